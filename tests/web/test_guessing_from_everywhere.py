"""Guesses from many addresses are slowed down by name, and the owner still gets in. Proxies hide nobody."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from orders.access.lockout import count_failure
from orders.models import AuditEntry, TotpFactor
from sasweb.limits import Limit
from tests.support.mailbox import Mailbox
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD, person
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.server import Answer, Server

GUESSES = 5
NEW_PASSWORD = "seven brown otters at dawn"


@pytest.fixture(autouse=True)
def few_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves only the limit of a name, of a few guesses an hour."""
    limits = {"sign_in.name": Limit(most=GUESSES, seconds=3_600)}
    monkeypatch.setattr(settings, "CONFIG", replace(settings.CONFIG, limits=limits))


@pytest.fixture
def ada(db: None) -> User:
    """The victim, a customer."""
    return User.objects.create_user(EMAIL, EMAIL, PASSWORD)


def sign_in(client: Client, password: str, name: str = EMAIL, url: str = "/account/sign-in/") -> Any:
    """Tries to sign in once."""
    return client.post(url, {"username": name, "password": password})


def guess_from_everywhere(number: int, name: str = EMAIL) -> list[int]:
    """Guesses, each from another address. Returns the statuses."""
    return [
        sign_in(Client(REMOTE_ADDR=f"198.51.100.{host}"), "not her password", name).status_code
        for host in range(1, number + 1)
    ]


def test_guesses_from_many_addresses_are_slowed_down_by_name(ada: User) -> None:
    assert guess_from_everywhere(GUESSES + 3) == [200] * GUESSES + [429] * 3
    locked = sign_in(Client(REMOTE_ADDR="203.0.113.9"), PASSWORD)
    assert locked.status_code == 429
    assert 0 < int(locked["Retry-After"]) <= 3_600 / GUESSES
    assert sign_in(Client(REMOTE_ADDR="203.0.113.9"), PASSWORD, name="bob@example.org").status_code == 200


def test_attempts_that_were_refused_unread_do_not_lock_the_name_from_everywhere(
    ada: User, rf: RequestFactory
) -> None:
    request = rf.post("/account/sign-in/", {"username": EMAIL, "password": "x"}, REMOTE_ADDR="198.51.100.1")
    for _ in range(GUESSES + 1):
        count_failure(request, {"username": EMAIL})
    assert sign_in(Client(REMOTE_ADDR="203.0.113.9"), PASSWORD).status_code == 302


def test_a_browser_in_which_the_owner_has_signed_in_is_not_locked_out(ada: User) -> None:
    hers = Client(REMOTE_ADDR="203.0.113.9")
    assert sign_in(hers, PASSWORD).status_code == 302
    hers.post("/account/sign-out/")
    guess_from_everywhere(GUESSES + 1)
    assert sign_in(hers, PASSWORD).status_code == 302


@pytest.mark.parametrize("flaw", ["of another account", "changed", "of an earlier password"])
def test_a_cookie_that_is_not_hers_does_not_help(ada: User, flaw: str) -> None:
    browser = Client(REMOTE_ADDR="203.0.113.9")
    other = User.objects.create_user("mallory@example.org", "mallory@example.org", PASSWORD)
    assert (
        sign_in(browser, PASSWORD, other.username if flaw == "of another account" else EMAIL).status_code
        == 302
    )
    browser.post("/account/sign-out/")
    if flaw == "changed":
        cookie = browser.cookies[settings.DEVICE_COOKIE_NAME].value
        browser.cookies[settings.DEVICE_COOKIE_NAME] = f"{cookie[:-2]}xx"
    elif flaw == "of an earlier password":
        ada.set_password(NEW_PASSWORD)
        ada.save()
    guess_from_everywhere(GUESSES)
    assert sign_in(browser, PASSWORD).status_code == 429


def test_the_cookie_is_not_for_scripts_and_holds_for_months(ada: User, client: Client) -> None:
    sign_in(client, PASSWORD)
    cookie = client.cookies[settings.DEVICE_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert cookie["max-age"] == 180 * 24 * 3_600


def test_a_new_password_lets_the_owner_in(inbox: Mailbox, ada: User) -> None:
    guess_from_everywhere(GUESSES + 1)
    browser = Client(REMOTE_ADDR="203.0.113.9")
    browser.post("/account/forgotten/", {"email": EMAIL})
    form = browser.get(inbox.link(), follow=True)
    url = form.redirect_chain[-1][0]
    browser.post(url, {"new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD})
    assert sign_in(browser, NEW_PASSWORD).status_code == 302


def test_an_account_with_a_second_factor_is_not_locked_by_its_name(db: None) -> None:
    admin = person("admin", EMAIL, password=PASSWORD)
    TotpFactor.objects.create(user=admin, name="default", confirmed=True)
    assert guess_from_everywhere(GUESSES + 2) == [200] * (GUESSES + 2)
    assert sign_in(Client(REMOTE_ADDR="203.0.113.9"), PASSWORD).status_code == 302


# The audit log.


def entries() -> list[tuple[str, str, str, bool]]:
    fields = ("actor", "ip_address", "result", "allowed")
    return list(AuditEntry.objects.filter(act="sign in").order_by("pk").values_list(*fields))


@pytest.mark.parametrize("url", ["/console/sign-in/", "/account/sign-in/", "/admin/login/"])
def test_sign_ins_of_operators_and_failures_are_in_the_audit_log(url: str, db: None) -> None:
    olga = person("operator", EMAIL, password=PASSWORD)
    User.objects.filter(pk=olga.pk).update(is_staff=True)
    browser = Client(REMOTE_ADDR="203.0.113.9")
    sign_in(browser, "a wrong one", f"{EMAIL.upper()} ", url)
    sign_in(browser, PASSWORD, EMAIL, url)
    assert entries() == [
        (EMAIL, "203.0.113.9", "wrong password", False),
        (EMAIL, "203.0.113.9", "right password", True),
    ]


def test_customers_are_not_in_the_audit_log_and_nobody_can_fill_it(ada: User) -> None:
    admin = person("admin", "admin@example.org", password=PASSWORD)
    TotpFactor.objects.create(user=admin, name="default", confirmed=True)
    sign_in(Client(), PASSWORD)
    sign_in(Client(), "a wrong one")
    guess_from_everywhere(3, "nobody@example.org")
    assert entries() == []
    guess_from_everywhere(GUESSES + 5, "admin@example.org")
    assert len(entries()) == GUESSES


# Behind a proxy.


@pytest.fixture
def behind_proxy(transactional_db: None, tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "log", database_url=database_url(), TRUSTED_PROXIES="127.0.0.1")
    until(server.answers, what="the web server")
    yield server
    server.end()


def test_behind_a_proxy_each_client_is_locked_out_alone(behind_proxy: Server) -> None:
    person("operator", "olga", password=PASSWORD)
    post = poster(behind_proxy)
    failures = [post("203.0.113.1", "a wrong one").status for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert failures == [200] * (settings.AXES_FAILURE_LIMIT - 1) + [429]
    assert post("203.0.113.1", PASSWORD).status == 429
    assert post("203.0.113.2", PASSWORD).status == 302
    assert set(AccessAttempt.objects.values_list("ip_address", flat=True)) == {"203.0.113.1"}
    assert entries()[-1] == ("olga", "203.0.113.2", "right password", True)


def test_a_refusal_is_repeated_at_once_to_its_address_alone(transactional_db: None, tmp_path: Path) -> None:
    person("operator", "olga", password=PASSWORD)
    env = {"TRUSTED_PROXIES": "127.0.0.1", "LIMITS": "sign_in.address=1/3600"}
    server = Server(tmp_path / "log", database_url=database_url(), **env)
    try:
        until(server.answers, what="the web server")
        post = poster(server)
        assert post("203.0.113.1", "a wrong one").status == 200
        refused = until(lambda: repeated(post), what="two refusals with one request id")
        assert refused.status == 429
        assert int(refused.headers["retry-after"]) > 3_000
        assert "You’ve done that too often" in refused.body.decode()
        assert post("203.0.113.2", PASSWORD).status == 302
    finally:
        server.end()


def repeated(post: Callable[[str, str], Answer]) -> Answer | None:
    """The answer to a second request, if it is that to the first one."""
    first, second = post("203.0.113.1", PASSWORD), post("203.0.113.1", PASSWORD)
    return second if first.headers["x-request-id"] == second.headers["x-request-id"] else None


def poster(server: Server) -> Callable[[str, str], Answer]:
    """Signs olga in through a proxy that saw a client at the first address, which claims to be at another."""
    page = server.request("GET", "/console/sign-in/", headers={"Host": "localhost"})
    cookie = next(iter(SimpleCookie(page.headers["set-cookie"]).values()))
    token = re.search(rb'csrfmiddlewaretoken" value="(\w+)"', page.body)
    assert token

    def post(client: str, password: str) -> Answer:
        form = {"username": "olga", "password": password, "csrfmiddlewaretoken": token[1].decode()}
        headers = {
            "Host": "localhost",
            "Cookie": f"{cookie.key}={cookie.value}",
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Forwarded-For": f"198.51.100.77, {client}",
        }
        return server.request("POST", "/console/sign-in/", body=urlencode(form).encode(), headers=headers)

    return post
