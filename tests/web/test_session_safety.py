"""Sessions that end, passwords of any composition, and a second factor that no other way in passes by."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticToken

from orders.access import second_factor
from orders.access.hashed_sessions import SIGNED_IN
from tests.support.mailbox import Mailbox
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD, person
from tests.web.customers import ada
from tests.web.second_factors import FACTOR, with_device

pytestmark = pytest.mark.django_db
__all__ = ["ada"]
OTHER = "seven slow trams uphill"


def sign_in(password: str = PASSWORD, *, client: Client | None = None) -> Any:
    """Signs ada in. Returns the browser."""
    client = client or Client()
    client.post("/account/sign-in/", {"username": EMAIL, "password": password})
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/account/").status_code == 200


# Sessions.


def test_the_cookie_of_a_session_that_was_signed_out_opens_nothing(ada: User) -> None:
    client, thief = sign_in(), Client()
    thief.cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert is_signed_in(thief)
    client.post("/account/sign-out/")
    thief.cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert not is_signed_in(thief)


def test_a_key_that_somebody_has_made_up_or_knew_before_is_not_adopted(ada: User) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    sign_in(client=client)
    assert client.cookies[settings.SESSION_COOKIE_NAME].value != "a" * 32
    assert is_signed_in(client)


def test_a_session_ends_with_its_account(ada: User) -> None:
    client = sign_in()
    assert is_signed_in(client)
    User.objects.update(is_active=False)
    assert not is_signed_in(client)


@pytest.mark.parametrize(("days", "lives"), [(29, True), (31, False)])
def test_a_session_that_is_used_every_day_ends_a_month_after_its_sign_in(
    days: int, lives: bool, ada: User
) -> None:
    client = sign_in()
    session = client.session
    assert abs(session[SIGNED_IN] - time.time()) < 60
    session[SIGNED_IN] = time.time() - days * 24 * 3600
    session.save()
    assert is_signed_in(client) is lives


def test_a_session_ends_two_weeks_after_its_last_change(ada: User) -> None:
    client = sign_in()
    row = Session.objects.get()
    assert abs(row.expire_date - timezone.now() - timedelta(days=14)) < timedelta(minutes=1)
    Session.objects.update(expire_date=timezone.now())
    assert not is_signed_in(client)


def test_every_sign_in_is_logged_with_account_and_address(
    ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    sign_in()
    sign_in("a wrong password")
    events = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    noted = [
        (event["event"], event["account"], event["ip_address"])
        for event in events
        if event.get("action") == "sign in"
    ]
    assert noted == [("signed in", ada.pk, "127.0.0.1"), ("wrong password", ada.pk, "127.0.0.1")]


# Passwords.


@pytest.mark.parametrize(
    "password",
    [
        "83920174650192837465",  # digits alone, if they are not easy to guess
        "  seven slow trams  ",
        "sept trams montés à 7 h 🚋",
        "q7" * 2 + "mauve otters argue about lanterns while nobody brings the soup in time",
    ],
)
def test_a_password_of_any_composition_counts_exactly_as_it_was_typed(password: str, ada: User) -> None:
    client = sign_in()
    form = {"old_password": PASSWORD, "new_password1": password, "new_password2": password}
    assert client.post("/account/password/", form).status_code == 302
    assert is_signed_in(sign_in(password))
    for wrong in (password[:-1], f"{password} ", password.strip() + "x", password.swapcase() + "."):
        assert not is_signed_in(sign_in(wrong))


# The second factor.


def test_a_new_password_by_email_does_not_open_what_the_second_factor_guards(
    inbox: Mailbox, settings: Any
) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    olga = person("operator", EMAIL, password=PASSWORD)
    User.objects.filter(pk=olga.pk).update(email=EMAIL)
    with_device(olga)
    client = Client()
    client.post("/account/forgotten/", {"email": EMAIL})
    form = {"new_password1": OTHER, "new_password2": OTHER}
    client.post(client.get(inbox.link())["Location"], form)
    assert not is_signed_in(client)
    sign_in(OTHER, client=client)
    assert client.get("/console/")["Location"].startswith(FACTOR)


def test_a_recovery_code_has_too_many_letters_to_be_found_from_its_hash() -> None:
    olga = person("operator")
    codes = second_factor.renew_recovery_codes(olga)
    assert all(len(code.replace("-", "")) * 5 >= 112 for code in codes)
    assert len(set(codes)) == second_factor.RECOVERY_CODES
    stored = set(StaticToken.objects.values_list("token", flat=True))
    assert not stored & {code.replace("-", "")[:16] for code in codes}
