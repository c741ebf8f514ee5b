"""Signing up, in and out, and passwords: every flow, and what no page may do."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from orders.models import Address, OutgoingMessage
from orders.shop.demo.catalogue import load_catalogue
from tests.support.mailbox import Mailbox, links
from tests.support.order_bodies import EMAIL, LONDON
from tests.support.people import PASSWORD
from tests.web.customers import ada, signed_in
from tests.web.helpers import errors_of
from tests.web.markup import Markup

__all__ = ["ada", "signed_in"]
OTHER = "seven slow trams uphill"
PUBLIC = (
    "sign-in/",
    "sign-up/",
    "sign-up/sent/",
    "forgotten/",
    "forgotten/sent/",
    "sign-up/nonsense/",
    "reset/x/y/",
)
OWN = ("", "orders/", "password/", "addresses/", "addresses/new/")


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue."""
    load_catalogue()


def sign_in(client: Client, password: str = PASSWORD, email: str = EMAIL, **more: str) -> Any:
    """Sends the form of the sign-in page."""
    return client.post("/account/sign-in/", {"username": email, "password": password, **more})


def twice(password: str) -> dict[str, str]:
    """What a form for a new password sends."""
    return {"new_password1": password, "new_password2": password}


# Signing up.


def test_an_easy_password_is_refused_wherever_one_is_set(
    client: Client, signed_in: Client, ada: User, inbox: Mailbox
) -> None:
    client.post("/account/forgotten/", {"email": EMAIL})
    reset = client.get(inbox.link())["Location"]
    easy = twice("iloveyou1234")
    for page in (
        client.post(reset, easy),
        signed_in.post("/account/password/", {"old_password": PASSWORD, **easy}),
    ):
        (error,) = errors_of(page)["new_password2"]
        assert "easy to guess. Choose a few words" in error
        assert error in page.content.decode()
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_an_emailed_link_and_a_password_create_an_account_and_sign_in(client: Client, inbox: Mailbox) -> None:
    response = client.post("/account/sign-up/", {"email": " Ada@Example.COM "}, follow=True)
    assert response.redirect_chain == [("/account/sign-up/sent/", 302)]
    assert not User.objects.exists()
    (email,) = inbox.deliver()
    assert email["To"] == EMAIL
    (link,) = links(email)
    assert EMAIL in client.get(link).content.decode()
    done = client.post(link, twice(PASSWORD))
    assert (done.status_code, done["Location"]) == (302, "/account/")
    user = User.objects.get()
    assert (user.username, user.email, user.is_staff, user.is_superuser) == (EMAIL, EMAIL, False, False)
    assert client.session["_auth_user_id"] == str(user.pk)
    assert user.password.startswith("argon2")


def test_a_link_works_for_one_account_only(client: Client, inbox: Mailbox) -> None:
    client.post("/account/sign-up/", {"email": EMAIL})
    link = inbox.link()
    client.post(link, twice(PASSWORD))
    again = Client().post(link, twice(OTHER))
    assert again["Location"] == "/account/sign-in/"
    assert User.objects.get().check_password(PASSWORD)


def test_a_link_that_was_changed_or_has_expired_creates_nothing(
    client: Client, inbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/account/sign-up/", {"email": EMAIL})
    link = inbox.link()
    assert client.post(link[:-3] + "x/", twice(PASSWORD)).status_code == 410
    monkeypatch.setattr("orders.access.sign_up_links.MAX_AGE", -1)
    assert client.post(link, twice(PASSWORD)).status_code == 410
    assert not User.objects.exists()


def test_a_sign_up_returns_to_where_it_began(client: Client, inbox: Mailbox) -> None:
    client.post("/account/sign-up/", {"email": EMAIL, "next": "/cart/"})
    assert client.post(inbox.link(), twice(PASSWORD))["Location"] == "/cart/"


NO_ADDRESSES = [
    *("", "ada", "ada@", "ada@example", "ada @example.com"),
    *("ädä@example.com", f"{'a' * 150}@example.com", "a\x00@example.com"),
]


@pytest.mark.parametrize("email", NO_ADDRESSES)
def test_an_invalid_email_address_is_reported_beside_its_field(client: Client, email: str) -> None:
    page = client.post("/account/sign-up/", {"email": email})
    assert list(errors_of(page)) == ["email"]
    text = page.content.decode()
    assert re.search(r'<input[^>]*aria-describedby="id_email_helptext id_email_error"', text)
    assert 'id="id_email_error"' in text


@pytest.mark.parametrize(
    "password",
    [
        *("", "short", "elevenchars", "password1234", "123456789012", "aaaaaaaaaaaa", "iloveyou1234"),
        *("abcabcabcabc", "qwertyuiop123", "P@ssw0rd2026", "printshop2026", EMAIL, f"{EMAIL}2026"),
        "passwordpasswordpassword",
    ],
)
def test_a_weak_password_is_refused_with_the_reason(client: Client, inbox: Mailbox, password: str) -> None:
    client.post("/account/sign-up/", {"email": EMAIL})
    assert errors_of(client.post(inbox.link(), twice(password)))
    assert not User.objects.exists()


# Signing in and out.


def test_email_and_password_sign_in_however_the_email_is_written(client: Client, ada: User) -> None:
    response = sign_in(client, email="  ADA@example.com ")
    assert response["Location"] == "/account/"
    page = client.get("/account/").content.decode()
    assert EMAIL in page
    assert "data-signed-in" in page


def test_an_empty_password_is_asked_for(signed_in: Client, ada: User) -> None:
    assert errors_of(sign_in(Client(), password="")) == {"password": ["Enter your password."]}
    assert errors_of(signed_in.post("/account/password/", {"old_password": "", **twice("")})) == {
        "old_password": ["Enter your current password."],
        "new_password1": ["Enter a new password."],
        "new_password2": ["Enter the new password again."],
    }


def test_signing_in_starts_a_new_session(client: Client, ada: User) -> None:
    client.post("/account/forgotten/", {"email": EMAIL})
    before = client.cookies[settings.SESSION_COOKIE_NAME].value
    cookie = sign_in(client).cookies[settings.SESSION_COOKIE_NAME]
    assert cookie.value != before
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 14 * 24 * 3600)


def test_signing_out_is_a_post_and_ends_the_session(signed_in: Client) -> None:
    assert signed_in.get("/account/sign-out/").status_code == 405
    assert signed_in.get("/account/").status_code == 200
    assert signed_in.post("/account/sign-out/")["Location"] == "/"
    assert signed_in.get("/account/")["Location"] == "/account/sign-in/?next=/account/"


def test_signing_in_leads_back_to_the_requested_page(client: Client, ada: User) -> None:
    for path in OWN:
        response = client.get(f"/account/{path}")
        assert response["Location"] == f"/account/sign-in/?next=/account/{path}"
    assert sign_in(client, next="/account/addresses/")["Location"] == "/account/addresses/"


# Passwords.


def test_a_forgotten_password_is_replaced_and_every_session_ends(
    signed_in: Client, inbox: Mailbox, ada: User
) -> None:
    elsewhere = Client()
    elsewhere.post("/account/forgotten/", {"email": EMAIL.upper()})
    link = inbox.link()
    opened = elsewhere.get(link)
    assert opened["Location"] != link  # the secret is no longer in the url
    done = elsewhere.post(opened["Location"], twice(OTHER))
    assert done["Location"] == "/account/sign-in/"
    assert signed_in.get("/account/").status_code == 302
    assert sign_in(Client(), PASSWORD).status_code == 200
    assert sign_in(Client(), OTHER).status_code == 302
    assert Client().get(link).status_code == 410


def test_accounts_that_cannot_sign_in_get_no_email_for_a_new_password(inbox: Mailbox, client: Client) -> None:
    User.objects.create_user("gone@example.com", "gone@example.com", PASSWORD, is_active=False)
    User.objects.create_user("api@example.com", "api@example.com")
    for email in ("gone@example.com", "api@example.com", "nobody@example.com"):
        client.post("/account/forgotten/", {"email": email})
    assert inbox.deliver() == []


def test_a_changed_password_signs_out_everywhere_else(signed_in: Client, ada: User) -> None:
    elsewhere = Client()
    elsewhere.force_login(ada)
    wrong = signed_in.post("/account/password/", {"old_password": OTHER, **twice(OTHER)})
    assert list(errors_of(wrong)) == ["old_password"]
    assert signed_in.post("/account/password/", {"old_password": PASSWORD, **twice(OTHER)}).status_code == 302
    assert signed_in.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302


def test_an_email_that_cannot_be_sent_is_tried_again(inbox: Mailbox, client: Client, ada: User) -> None:
    client.post("/account/forgotten/", {"email": EMAIL})
    inbox.to_text = "451 try again later"
    assert inbox.deliver() == []
    inbox.to_text = "250 OK"
    OutgoingMessage.objects.update(due_at=Now())
    assert len(inbox.deliver()) == 1


# Every page.


@pytest.mark.parametrize("path", [*PUBLIC, *OWN])
def test_no_page_is_cached_or_has_an_inline_script_or_style(client: Client, ada: User, path: str) -> None:
    if path in OWN:
        client.force_login(ada)
    response = client.get(f"/account/{path}")
    assert response.status_code in (200, 410)
    text = response.content.decode()
    assert "no-store" in response["Cache-Control"] or response.status_code == 410
    assert Markup(text).offences == []
    for form in re.findall(r'<form[^>]*method="post".*?</form>', text, flags=re.S):
        assert "csrfmiddlewaretoken" in form or 'action="/language/"' in form
    for field in re.findall(r"<(?:input|select)[^>]*>", text):
        if 'type="hidden"' not in field and 'type="search"' not in field:
            assert "autocomplete=" in field or 'type="checkbox"' in field, field


@pytest.mark.parametrize(
    "path", ["sign-in/", "sign-up/", "sign-out/", "forgotten/", "password/", "addresses/new/"]
)
def test_no_form_is_accepted_without_its_token(ada: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    fields = {"username": EMAIL, "password": PASSWORD, "email": EMAIL, **LONDON}
    assert client.post(f"/account/{path}", fields).status_code == 403
    assert not Address.objects.exists()


def test_the_header_shows_whether_the_visitor_is_signed_in(client: Client, ada: User) -> None:
    before = client.get("/").content.decode()
    assert reverse("account:sign-in") in before
    assert "data-signed-in" not in before
    client.force_login(ada)
    assert "data-signed-in" in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("path", "queries"), [("", 12), ("addresses/", 3), ("addresses/new/", 3), ("password/", 2)]
)
def test_a_page_takes_a_fixed_number_of_statements(
    signed_in: Client,
    ada: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    path: str,
    queries: int,
) -> None:
    Address.objects.bulk_create(Address(user=ada, **LONDON) for _ in range(20))
    with django_assert_max_num_queries(queries):
        signed_in.get(f"/account/{path}")
