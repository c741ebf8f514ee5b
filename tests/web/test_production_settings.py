"""What Django and browsers are told outside DEBUG."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from orders.apps import check_demonstration
from orders.demo.loading import load
from tests.architecture.test_settings import environment
from tests.support import prefork
from tests.support.people import PASSWORD, person

SIGN_IN = "/account/sign-in/"


def test_djangos_own_checks_for_production_find_nothing(tmp_path: Path) -> None:
    command = ["manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    owner = dict.fromkeys(("SHOP_COMPANY", "SHOP_ADDRESS", "SHOP_REGISTRATION"), "Prints Ltd")
    done = prefork.complete(*command, env=environment(tmp_path, **owner))
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"System check identified no issues \(\d+ silenced\)\.\n", done.stdout)
    security = [check for check in settings.SILENCED_SYSTEM_CHECKS if check.startswith("security.")]
    assert (len(security), len(settings.SILENCED_SYSTEM_CHECKS)) == (3, 4)


@pytest.mark.django_db
def test_accounts_of_a_demonstration_in_production_are_reported(settings: Any, tmp_path: Path) -> None:
    assert check_demonstration(databases=["default"]) == []
    load(tmp_path)
    (warning,) = check_demonstration(databases=["default"])
    assert warning.msg.endswith(": admin, api-demo, demo@demo.invalid, operator, viewer")
    settings.DEBUG = settings.IS_DEMONSTRATION = True
    assert check_demonstration(databases=["default"]) == []


@pytest.mark.django_db
def test_cookies_belong_to_this_host_and_to_https_and_scripts_cannot_read_them() -> None:
    person("customer", "ada@example.com", password=PASSWORD)
    browser = Client(enforce_csrf_checks=True)
    token = browser.get(SIGN_IN, secure=True).cookies["__Host-csrftoken"].value
    form = {"username": "ada@example.com", "password": PASSWORD, "csrfmiddlewaretoken": token}
    answer = browser.post(SIGN_IN, form, secure=True, headers={"Origin": "https://testserver"})
    assert answer.status_code == 302
    cookies = {
        name: (cookie["secure"], cookie["path"], cookie["domain"], cookie["samesite"])
        for name, cookie in browser.cookies.items()
    }
    assert cookies == dict.fromkeys(
        ["__Host-csrftoken", "__Host-device", "__Host-sessionid"], (True, "/", "", "Lax")
    )
    assert {name for name, cookie in browser.cookies.items() if not cookie["httponly"]} == set()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["/", "/no-such-page", "/console/", "/api/v1/orders", "/static/css/shop.css"]
)
def test_browsers_are_told_to_stay_with_https_for_a_year_by_every_answer_over_https(path: str) -> None:
    headers = []
    for is_https in (True, False):
        with closing(Client().get(path, secure=is_https)) as answer:
            headers.append(answer.headers.get("Strict-Transport-Security"))
    assert headers == ["max-age=31536000", None]
