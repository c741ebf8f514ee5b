"""A dump of the database opens nothing, and a new secret key ends nothing while the earlier one is listed."""

import time
from base64 import b32decode, b32encode
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core import serializers, signing
from django.core.management import call_command
from django.test import Client
from django_otp.oath import TOTP

from orders.access.guest_links import VALID_FOR
from orders.access.hashed_sessions import stored_key
from orders.models import OrderProcess, TotpFactor
from tests.support.mailbox import Mailbox, links
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD, person, signed_in
from tests.web.shopping import guest_page, shop_order

OTHER_KEY = "another key, of 32 characters or more"
FACTOR = "/console/second-factor/"


def dump() -> str:
    """Every row of every table."""
    return "\n".join(
        serializers.serialize("json", model.objects.all())
        for model in apps.get_models(include_auto_created=True)
    )


def set_up_factor(client: Client) -> tuple[bytes, list[str]]:
    """Sets a second factor up as an operator does. Returns the app's secret and the recovery codes."""
    letters: str = client.get(FACTOR).context["letters"]
    secret = b32decode(letters.replace(" ", ""))
    return secret, client.post(f"{FACTOR}set-up/", {"code": code_of(secret)}).context["codes"]


def code_of(secret: bytes, *, after: int = 0) -> str:
    """The code that an authenticator app shows, maybe half a minute later."""
    totp = TOTP(secret)
    totp.time = time.time() + 30 * after
    return f"{totp.token():06d}"


def change_key(settings: Any) -> None:
    """Changes the secret key as docs/operations.md says."""
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = OTHER_KEY


@pytest.mark.django_db
def test_a_dump_opens_no_session(client: Client) -> None:
    User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    client.post("/account/sign-in/", {"username": EMAIL, "password": PASSWORD})
    key = client.cookies[django_settings.SESSION_COOKIE_NAME].value
    rows = dump()
    assert key not in rows
    assert stored_key(key) in rows
    thief = Client()
    thief.cookies[django_settings.SESSION_COOKIE_NAME] = stored_key(key)
    assert thief.get("/account/").status_code == 302
    assert client.get("/account/").status_code == 200
    client.post("/account/sign-out/")
    assert stored_key(key) not in dump()
    assert client.get("/account/").status_code == 302


@pytest.mark.django_db
def test_a_dump_makes_no_code_of_a_second_factor(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    client = signed_in(person("operator"))
    letters: str = client.get(FACTOR).context["letters"]
    pending = b32decode(letters.replace(" ", "")).hex()
    assert pending not in str(dict(client.session.items())), "also while it is being set up"
    secret, codes = set_up_factor(client)
    assert secret.hex() == pending
    rows = dump()
    assert "otp_totp.totpdevice" in rows
    for text in (secret.hex(), b32encode(secret).decode(), *(code.replace("-", "") for code in codes)):
        assert text not in rows


@pytest.mark.django_db
def test_a_dump_holds_no_link_to_a_guests_order(inbox: Mailbox, client: Client, catalogue: None) -> None:
    order = shop_order()
    client.post("/orders/find/", {"number": str(order.order_id), "email": EMAIL})
    link = inbox.link()
    assert client.get(link).status_code == 200
    assert link.split("/")[2] not in dump()


@pytest.mark.django_db
def test_a_new_secret_key_ends_nothing_while_the_earlier_one_is_listed(
    settings: Any, catalogue: None
) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    operator = signed_in(person("operator", password=PASSWORD))
    secret, codes = set_up_factor(operator)
    page = guest_page(shop_order())
    change_key(settings)
    assert operator.get("/console/").status_code == 200, "she stays signed in"
    assert Client().get(page).status_code == 200
    again = Client()
    again.post("/console/sign-in/", {"username": "operator", "password": PASSWORD})
    assert again.post(FACTOR, {"code": code_of(secret, after=1)}).status_code == 302
    with_recovery_code = Client()
    with_recovery_code.post("/console/sign-in/", {"username": "operator", "password": PASSWORD})
    assert with_recovery_code.post(FACTOR, {"code": codes[0]}).status_code == 302

    settings.SECRET_KEY_FALLBACKS = []
    last = Client()
    last.post("/console/sign-in/", {"username": "operator", "password": PASSWORD})
    TotpFactor.objects.update(last_t=-1)
    assert last.post(FACTOR, {"code": code_of(secret)}).status_code == 302, "sealed anew when it was used"


@pytest.mark.django_db
def test_a_factor_whose_key_is_gone_opens_nothing_and_breaks_nothing(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    secret, _ = set_up_factor(signed_in(person("operator", password=PASSWORD)))
    settings.SECRET_KEY = OTHER_KEY
    client = Client()
    client.post("/console/sign-in/", {"username": "operator", "password": PASSWORD})
    assert client.post(FACTOR, {"code": code_of(secret, after=1)}).status_code == 403
    call_command("forget_second_factor", "operator")
    assert not TotpFactor.objects.exists()


# Old links.


def old_page(order: OrderProcess, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a guest's order, as an email from long ago has it."""
    long_ago = time.time() - VALID_FOR.total_seconds() - 60
    with monkeypatch.context() as then:
        then.setattr(signing.time, "time", lambda: long_ago)
        return guest_page(order)


@pytest.mark.django_db
def test_an_old_link_has_a_new_one_sent_to_the_orders_email_address(
    inbox: Mailbox, client: Client, catalogue: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = old_page(shop_order(), monkeypatch)
    shown = client.get(page)
    assert shown.status_code == 410
    assert "This link is too old" in shown.content.decode()
    assert EMAIL not in shown.content.decode()
    for part in ("progress/", "cancel/"):
        assert client.get(f"{page}{part}").status_code == 410
    assert client.post(f"{page}cancel/").status_code == 410
    assert "Check your email" in client.post(shown.context["renew"]).content.decode()
    (email,) = inbox.deliver()
    assert email["To"] == EMAIL
    assert client.get(links(email)[0]).status_code == 200
    client.post(shown.context["renew"])
    assert inbox.deliver() == [], "not again within minutes"


@pytest.mark.django_db
def test_a_made_up_link_has_nothing_sent(inbox: Mailbox, client: Client) -> None:
    shown = client.post("/o/made.up/renew/")
    assert (shown.status_code, "Check your email" in shown.content.decode()) == (200, True)
    assert inbox.deliver() == []


@pytest.mark.django_db
def test_visiting_a_link_makes_it_last_no_longer(
    client: Client, catalogue: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    nearly = time.time() - VALID_FOR.total_seconds() + 3_600
    with monkeypatch.context() as then:
        then.setattr(signing.time, "time", lambda: nearly)
        page = guest_page(shop_order())
    shown = client.get(page)
    assert shown.context["order_url"] == page
    assert shown.context["events_url"] == f"/events{page}"
    assert client.post(f"{page}cancel/")["Location"] == page
