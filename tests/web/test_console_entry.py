"""Entering the console: signing in, sessions that end, and the second factor."""

import time
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django_otp.plugins.otp_static.models import StaticToken

from orders.access import second_factor, sessions
from orders.models import AuditEntry, TotpFactor
from sasweb.sealing import unseal
from tests.support.factories import make_order, step_of
from tests.support.people import PASSWORD, person, signed_in
from tests.web.second_factors import FACTOR, code_of, give, move, with_device

pytestmark = pytest.mark.django_db

AUDIT = "/console/audit/"


@pytest.fixture
def required(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True


# Signing in.


def test_a_stranger_is_sent_to_the_consoles_sign_in_page_and_back() -> None:
    person("viewer", password=PASSWORD)
    client = Client()
    redirect = client.get(f"{AUDIT}?act=resubmit")
    assert redirect.status_code == 302
    assert redirect["Location"] == "/console/sign-in/?next=/console/audit/%3Fact%3Dresubmit"
    page = client.get(redirect["Location"])
    assert page.context["next"] == f"{AUDIT}?act=resubmit"
    form = {"username": "viewer", "password": PASSWORD, "next": f"{AUDIT}?act=resubmit"}
    assert client.post("/console/sign-in/", form)["Location"] == f"{AUDIT}?act=resubmit"
    assert client.get(AUDIT).status_code == 200
    form |= {"password": "wrong", "next": "https://evil.example/"}
    wrong = Client().post("/console/sign-in/", form)
    assert wrong.status_code == 200
    assert "evil" not in wrong.content.decode()
    assert "That name and password don’t match." in wrong.content.decode()


# Sessions.


@pytest.mark.parametrize(
    ("times", "lives"),
    [
        ({sessions.SEEN: 14 * 60}, True),
        ({sessions.SEEN: 16 * 60}, False),
        ({sessions.SINCE: 7.9 * 3600, sessions.SEEN: 10}, True),
        ({sessions.SINCE: 8.1 * 3600, sessions.SEEN: 10}, False),
    ],
)
def test_a_session_ends_when_it_is_idle_or_old(times: dict[str, float], lives: bool) -> None:
    client = signed_in(person("viewer"))
    assert client.get(AUDIT).status_code == 200
    move(client, **times)
    assert client.get(AUDIT).status_code == (200 if lives else 302)
    assert ("_auth_user_id" in client.session) is lives


def test_a_pages_automatic_requests_keep_no_session_alive() -> None:
    client = signed_in(person("viewer"))
    client.get(AUDIT)
    move(client, **{sessions.SEEN: 14 * 60})
    assert client.get(AUDIT, headers={"X-Live": "1"}).status_code == 200
    assert time.time() - client.session[sessions.SEEN] > 13 * 60
    assert client.get(AUDIT).status_code == 200
    assert time.time() - client.session[sessions.SEEN] < 60


def test_a_shop_session_that_enters_the_console_counts_from_its_sign_in() -> None:
    user = person("viewer")
    client = signed_in(user)
    User.objects.update(last_login="2026-01-01T00:00Z")
    assert client.get("/account/").status_code == 200
    assert client.get(AUDIT).status_code == 302
    assert client.get("/account/").status_code == 302


def test_a_customers_session_is_left_alone() -> None:
    client = signed_in(person("customer"))
    User.objects.update(last_login="2026-01-01T00:00Z")
    assert client.get("/account/").status_code == 200
    assert sessions.SINCE not in client.session


# The second factor.


def test_nothing_is_shown_without_a_required_second_factor(required: None) -> None:
    admin = person("admin")
    User.objects.update(is_staff=True, is_superuser=True)
    client = signed_in(admin)
    for path in ("/console/", AUDIT, "/console/audit.csv", "/admin/", "/admin/orders/product/"):
        assert client.get(path)["Location"].startswith(f"{FACTOR}?next="), path
    assert client.post("/console/second-factor/remove/")["Location"].startswith(FACTOR)
    assert client.get("/account/").status_code == 200


def test_setting_up_a_second_factor_shows_the_key_and_then_the_recovery_codes_once(required: None) -> None:
    client = signed_in(person("operator"))
    page = client.get(f"{FACTOR}?next={AUDIT}").content.decode()
    picture = client.get("/console/second-factor/qr.svg")
    assert picture["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert "style=" not in picture.content.decode()
    key = unseal(client.session[second_factor.NEW_KEY], purpose=second_factor.NEW_KEY).decode()
    assert second_factor.key_letters(key) in page
    assert client.post(f"{FACTOR}set-up/", {"code": "000000"}).status_code == 403
    assert not TotpFactor.objects.exists()
    before = client.session.session_key
    shown = client.post(f"{FACTOR}set-up/", {"code": code_of(TotpFactor(key=key)), "next": AUDIT})
    codes = shown.context["codes"]
    assert (shown.status_code, len(codes)) == (200, second_factor.RECOVERY_CODES)
    assert "no-store" in shown["Cache-Control"]
    assert client.session.session_key != before
    assert client.get(AUDIT).status_code == 200
    assert client.get("/console/second-factor/qr.svg").status_code == 404
    assert codes[0] not in client.get(FACTOR).content.decode()
    assert not {code.replace("-", "") for code in codes} & set(
        StaticToken.objects.values_list("token", flat=True)
    )
    noted = AuditEntry.objects.order_by("pk").values_list("act", "target", "result", "allowed")
    assert list(noted) == [
        ("second factor set up", "operator", "a wrong code", False),
        ("second factor set up", "operator", "has a second factor", True),
    ]


def test_the_code_is_asked_for_at_each_sign_in_and_leads_back(required: None) -> None:
    user = person("operator")
    device = with_device(user)
    client = signed_in(user)
    redirect = client.get(AUDIT)
    assert redirect["Location"] == f"{FACTOR}?next=%2Fconsole%2Faudit%2F"
    code = code_of(device)
    assert give(client, code, next=AUDIT)["Location"] == AUDIT
    assert client.get(AUDIT).status_code == 200
    again = signed_in(user)
    assert give(again, code).status_code == 403  # each code works once
    assert again.get(AUDIT).status_code == 302


def test_somebody_with_a_second_factor_is_asked_for_it_even_where_it_is_not_required() -> None:
    user = person("operator")
    client = signed_in(user)
    assert client.get(AUDIT).status_code == 200
    with_device(user)
    assert client.get(AUDIT).status_code == 302


def test_a_recovery_code_works_once() -> None:
    user = person("operator")
    with_device(user)
    codes = second_factor.renew_recovery_codes(user)
    assert give(signed_in(user), codes[0].upper()).status_code == 302
    assert give(signed_in(user), codes[0]).status_code == 403
    assert second_factor.recovery_codes_left(user) == second_factor.RECOVERY_CODES - 1


def test_another_persons_recovery_code_is_refused() -> None:
    user, other = person("operator"), person("operator", "other")
    for account in (user, other):
        with_device(account)
        codes = second_factor.renew_recovery_codes(account)
    assert give(signed_in(user), codes[0]).status_code == 403


@pytest.mark.parametrize("recovery", [False, True])
def test_a_hundred_guesses_are_slowed_down_and_the_right_code_waits_too(recovery: bool) -> None:
    user = person("operator")
    device = with_device(user)
    codes = second_factor.renew_recovery_codes(user)
    client = signed_in(user)
    guess = "aaaa-bbbb-cccc-dddd" if recovery else f"{(int(code_of(device)) + 5) % 1_000_000:06d}"
    answers = [give(client, guess).status_code for _ in range(100)]
    assert answers[0] == 403
    assert set(answers) == {403, 429}
    assert answers.count(403) <= 8  # this test takes less than 2 to the power of 7 seconds
    last = give(client, guess)
    while last.status_code == 429 and int(last["Retry-After"]) < 2:  # the wait is just over
        last = give(client, guess)
    answers.append(last.status_code)
    right = give(client, codes[1] if recovery else code_of(device, 1))
    assert right.status_code == 429
    assert int(right["Retry-After"]) >= 1
    assert client.get(AUDIT).status_code == 302
    refused = AuditEntry.objects.filter(
        act="second factor", target="operator", result="a wrong code", allowed=False
    )
    assert refused.count() == answers.count(403)


def test_removing_a_second_factor_ends_every_session_that_used_it(required: None) -> None:
    user = person("operator")
    device = with_device(user)
    client, other = signed_in(user), signed_in(user)
    assert give(client, code_of(device)).status_code == 302
    assert give(other, code_of(device, 1)).status_code == 302
    assert client.post(f"{FACTOR}remove/")["Location"] == FACTOR
    assert other.get(AUDIT).status_code == 302
    assert "Set up" in other.get(FACTOR).content.decode()


def test_a_second_factor_is_asked_for_again_before_new_recovery_codes_are_shown() -> None:
    user = person("operator")
    device = with_device(user)
    client = signed_in(user)
    assert give(client, code_of(device)).status_code == 302
    age = settings.SECOND_FACTOR_FRESH.total_seconds()
    move(client, **{second_factor.GIVEN_AT: age + 1})
    back = "http://testserver/console/audit/"
    redirect = client.post(f"{FACTOR}codes/", headers={"Referer": back})
    assert redirect["Location"] == f"{FACTOR}?next=http%3A%2F%2Ftestserver%2Fconsole%2Faudit%2F"
    elsewhere = client.post(f"{FACTOR}codes/", headers={"Referer": "https://evil.example/"})
    assert elsewhere["Location"] == f"{FACTOR}?next=%2Fconsole%2F"
    assert not StaticToken.objects.exists()
    page = client.get(redirect["Location"])
    assert "Confirm that it is you" in page.content.decode()
    assert give(client, code_of(device, 1), next=back)["Location"] == back
    assert client.post(f"{FACTOR}codes/").status_code == 200
    assert StaticToken.objects.count() == second_factor.RECOVERY_CODES


@pytest.mark.parametrize("act", ["settle", "set password", "change password", "change account"])
def test_settling_by_hand_and_changing_an_account_need_a_fresh_code(required: None, act: str) -> None:
    admin = person("admin", password=PASSWORD)
    User.objects.filter(pk=admin.pk).update(is_staff=True, is_superuser=True)
    device = with_device(admin)
    client = signed_in(admin)
    assert give(client, code_of(device)).status_code == 302
    move(client, **{second_factor.GIVEN_AT: settings.SECOND_FACTOR_FRESH.total_seconds() + 1})
    order = make_order({"mix": {"state": "failed", "outcome": "unknown"}}, process_state="error")
    olga = person("operator", "olga", password=PASSWORD)
    new = "eleven tall ships at dawn"
    path, form = {
        "settle": (f"/console/orders/{order.pk}/steps/mix/settle/", {"how": "not done", "reason": "I asked"}),
        "set password": (
            f"/admin/auth/user/{olga.pk}/password/",
            {"password1": new, "password2": new, "usable_password": "true", "set-password": "1"},
        ),
        "change password": (
            "/admin/password_change/",
            {"old_password": PASSWORD, "new_password1": new, "new_password2": new},
        ),
        "change account": (
            f"/admin/auth/user/{olga.pk}/change/",
            {"username": "olga", "email": "new@example.com", "is_active": "on"},
        ),
    }[act]

    def has_acted() -> bool:
        accounts = User.objects.filter(pk__in=[admin.pk, olga.pk])
        is_changed = any(user.check_password(new) or user.email == "new@example.com" for user in accounts)
        return is_changed or step_of(order, "mix").outcome == "none"

    refused = client.post(path, form, headers={"Referer": f"http://testserver{path}"})
    assert refused["Location"].startswith(f"{FACTOR}?next=")
    assert not has_acted()
    assert give(client, code_of(device, 1), next=path)["Location"] == path
    assert client.post(path, form).status_code == 302
    assert has_acted()


def test_a_command_removes_a_lost_second_factor(required: None) -> None:
    user = person("operator")
    with_device(user)
    second_factor.renew_recovery_codes(user)
    out = StringIO()
    call_command("forget_second_factor", "operator", stdout=out)
    assert out.getvalue() == "operator has no second factor\n"
    assert "Set up" in signed_in(user).get(FACTOR).content.decode()
    assert not StaticToken.objects.exists()
    assert AuditEntry.objects.get().target == "operator"
    with pytest.raises(CommandError, match="unknown account 'nobody'"):
        call_command("forget_second_factor", "nobody")
