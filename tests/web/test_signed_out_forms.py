"""A form of the console that comes after its session has ended does nothing, and signing in leads back to it."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve

from orders.models import AuditEntry, BulkAction
from tests.support.people import PASSWORD, person, signed_in
from tests.web.console_orders import in_error
from tests.web.second_factors import FACTOR, code_of, give, with_device
from tests.web.test_console_alerts import text_of

pytestmark = pytest.mark.django_db
SIGN_IN = "/console/sign-in/"
BEFORE = "You have been signed out, and nothing was done. Sign in, then press the button again."
AFTER = "You had been signed out. Nothing was done: press the button again."
BY_ADDRESS = "Nothing was changed: that address works only from a button."


def sent_from(page: str, path: str) -> tuple[Client, str]:
    """Sends a form of a page when its session has ended. Returns the browser, and where it was led."""
    client = signed_in(person("operator", "olga", password=PASSWORD))
    del client.cookies[settings.SESSION_COOKIE_NAME]
    answer = client.post(path, headers={"Referer": page} if page else {})
    assert answer.status_code == 302
    return client, answer["Location"]


def sign_in(client: Client, led: str) -> Any:
    """Signs in with the form of the sign-in page, and goes where that leads."""
    assert urlsplit(led).path == SIGN_IN
    assert BEFORE in text_of(client.get(led))
    fields = {name: values[0] for name, values in parse_qs(urlsplit(led).query).items()}
    return client.post(SIGN_IN, {"username": "olga", "password": PASSWORD, **fields}, follow=True)


@pytest.mark.parametrize("query", ["", "?events=all&before=7"])
def test_signing_in_again_leads_to_the_page_with_the_button_and_says_that_nothing_was_done(
    query: str,
) -> None:
    order = in_error()
    at = f"/console/orders/{order.pk}/"
    client, led = sent_from(f"http://testserver{at}{query}", f"{at}resubmit/")
    page = sign_in(client, led)
    assert page.redirect_chain == [(f"{at}{query}", 302)]
    assert (page.status_code, text_of(page).count(AFTER)) == (200, 1)
    assert not BulkAction.objects.exists()
    assert list(AuditEntry.objects.values_list("act", flat=True)) == ["sign in"]
    assert AFTER not in text_of(client.get(at))  # it is said once


def test_it_is_said_after_the_second_factor_where_the_button_is() -> None:
    order = in_error()
    at = f"/console/orders/{order.pk}/"
    client, led = sent_from(f"http://testserver{at}", f"{at}pause/")
    device = with_device(User.objects.get(username="olga"))
    factor_page = sign_in(client, led)
    assert factor_page.request["PATH_INFO"] == FACTOR and AFTER not in text_of(factor_page)
    answer = give(client, code_of(device), next=parse_qs(factor_page.request["QUERY_STRING"])["next"][0])
    assert answer["Location"] == at
    assert AFTER in text_of(client.get(at))


@pytest.mark.parametrize(
    "page",
    [
        "",
        "https://evil.example/console/orders/",
        "//evil.example/",
        "javascript:alert(1)",
        "http://testserver/",
    ],
)
def test_a_form_of_an_unknown_page_leads_to_the_page_above_it_and_never_elsewhere(page: str) -> None:
    order = in_error()
    client, led = sent_from(page, f"/console/orders/{order.pk}/steps/create-shipment/skip/")
    at = (
        "/console/"
        if page == "http://testserver/"
        else f"/console/orders/{order.pk}/steps/create-shipment/skip/"
    )
    assert parse_qs(urlsplit(led).query)["next"] == [at]
    assert sign_in(client, led).status_code == 200


def test_signing_in_with_a_wrong_password_first_still_leads_back() -> None:
    order = in_error()
    at = f"/console/orders/{order.pk}/"
    client, led = sent_from(f"http://testserver{at}", f"{at}resubmit/")
    wrong = client.post(SIGN_IN, {"username": "olga", "password": "wrong", "next": at, "not_taken": "1"})
    assert (
        BEFORE in text_of(wrong)
        and '<input type="hidden" name="not_taken" value="1">' in wrong.content.decode()
    )
    assert AFTER in text_of(sign_in(client, led))


def test_whoever_just_signs_in_is_told_nothing() -> None:
    client = Client()
    person("operator", "olga", password=PASSWORD)
    led = client.get("/console/orders/")["Location"]
    assert led == f"{SIGN_IN}?next=/console/orders/"
    assert BEFORE not in text_of(client.get(led))
    fields = {"username": "olga", "password": PASSWORD, "next": "/console/orders/"}
    assert AFTER not in text_of(client.post(SIGN_IN, fields, follow=True))


def test_a_url_that_only_a_button_has_leads_to_the_page_above_it(places: dict[str, str]) -> None:
    admin = signed_in(person("admin"))
    led = {}
    for name, path in places.items():
        answer = admin.get(path)
        assert answer.status_code != 405, name
        if getattr(resolve(path).func, "takes_only_posts", False):
            led[name] = answer["Location"]
            assert path.startswith(led[name]) and led[name] != path, name
            assert (admin.head(path).status_code, admin.put(path).status_code) == (302, 405), name
            page = admin.get(led[name], follow=True)
            assert BY_ADDRESS in page.content.decode() or page.status_code == 404, name
    assert len(led) > 40
    assert led["order-resubmit"] == led["step-decide"] == places["order"]
    assert led["pause-agent"] == places["agents"]
    assert led["second-factor-codes"] == led["second-factor-set-up"] == places["second-factor"]
    assert list(AuditEntry.objects.values_list("act", flat=True)) == ["export"]
