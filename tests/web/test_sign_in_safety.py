"""Nobody gets in by guessing, finds out who has an account, or is sent elsewhere; and no owner is locked out."""

import re
from dataclasses import replace
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.access.addresses import read_ip_address
from orders.models import AuditEntry, OutgoingMessage
from orders.outbox.queue import post
from orders.vocabulary import MessageKind
from tests.support.mailbox import Mailbox, links, text_of
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD, QuickHasher, person
from tests.web.helpers import in_threads
from tests.web.shopping import shop_order

ELSEWHERE = [
    *("https://evil.example/", "//evil.example", "///evil.example", "/\\evil.example", "http:evil.example"),
    *("javascript:alert(1)", "https://testserver@evil.example/", "\x00//evil.example", " //evil.example"),
]


@pytest.fixture
def ada(db: None) -> User:
    """The victim."""
    return User.objects.create_user(EMAIL, EMAIL, PASSWORD)


def guess(client: Client, password: str = "not her password", email: str = EMAIL, **headers: str) -> Any:
    """Tries to sign in once."""
    return client.post("/account/sign-in/", {"username": email, "password": password}, **headers)


def without_tokens(page: Any) -> str:
    """A page without the tokens, which differ each time."""
    return re.sub(r'(csrfmiddlewaretoken" value=)"\w+"', r"\1", page.content.decode())


# Guessing.


def test_a_hundred_guesses_are_locked_out_and_the_owner_elsewhere_is_not(ada: User, client: Client) -> None:
    answers = [guess(client, f"guess {number}").status_code for number in range(100)]
    assert answers == [200] * (settings.AXES_FAILURE_LIMIT - 1) + [429] * (101 - settings.AXES_FAILURE_LIMIT)
    assert guess(client, PASSWORD).status_code == 429  # from there, not even the right password helps
    assert guess(Client(REMOTE_ADDR="203.0.113.9"), PASSWORD).status_code == 302
    assert guess(client, PASSWORD).status_code == 429


def test_a_guesser_cannot_hide_behind_other_letters_browsers_or_addresses_of_one_network(ada: User) -> None:
    for number in range(settings.AXES_FAILURE_LIMIT):
        client = Client(REMOTE_ADDR=f"2001:db8:0:7::{number:x}", HTTP_USER_AGENT=f"agent {number}")
        last = guess(client, email=EMAIL.upper() if number % 2 else f" {EMAIL}")
    assert last.status_code == 429
    assert guess(Client(REMOTE_ADDR="2001:db8:0:7:ffff::1"), PASSWORD).status_code == 429
    assert guess(Client(REMOTE_ADDR="2001:db8:0:8::1"), PASSWORD).status_code == 302


def test_an_ip_address_that_a_client_only_claims_does_not_count(ada: User, client: Client) -> None:
    for number in range(settings.AXES_FAILURE_LIMIT):
        last = guess(client, HTTP_X_FORWARDED_FOR=f"198.51.100.{number}")
    assert last.status_code == 429


def test_the_page_for_admins_counts_the_same_guesses(ada: User, client: Client) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        last = client.post("/admin/login/", {"username": EMAIL, "password": "wrong"})
    assert last.status_code == 429
    assert guess(client, PASSWORD).status_code == 429


def test_a_lockout_says_how_long_it_lasts(ada: User, client: Client) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        page = guess(client)
    assert 895 <= int(page["Retry-After"]) <= 901
    assert "Too many wrong passwords" in page.content.decode()
    assert page["Cache-Control"] == "no-store"
    AccessAttempt.objects.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME / 2)
    assert 440 <= int(guess(client)["Retry-After"]) <= 451


def test_a_lockout_ends_automatically_and_further_guesses_do_not_prolong_it(
    ada: User, client: Client
) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT + 5):
        guess(client)
    AccessAttempt.objects.update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME)
    assert guess(client, PASSWORD).status_code == 302


@pytest.mark.parametrize("url", ["/console/sign-in/", "/account/sign-in/", "/admin/login/"])
def test_an_attempt_while_the_name_is_locked_is_recorded_as_locked_and_not_as_a_wrong_password(
    url: str, client: Client, db: None, caplog: pytest.LogCaptureFixture
) -> None:
    olga = person("operator", EMAIL, password=PASSWORD)
    passwords = [*("not her password" for _ in range(settings.AXES_FAILURE_LIMIT)), PASSWORD, "another"]
    answers = [client.post(url, {"username": EMAIL, "password": text}).status_code for text in passwords]
    assert answers[-3:] == [429, 429, 429]
    results = ["wrong password"] * settings.AXES_FAILURE_LIMIT + ["locked"] * 2
    noted = AuditEntry.objects.filter(act="sign in").order_by("pk")
    assert list(noted.values_list("target", "result", "allowed")) == [
        (EMAIL, text, False) for text in results
    ]
    events = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    lines = [(event["event"], event["account"]) for event in events if event.get("action") == "sign in"]
    assert lines == [(text, olga.pk) for text in results]


def test_a_new_password_by_email_ends_a_lockout(ada: User, client: Client, inbox: Mailbox) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        guess(client)
    client.post("/account/forgotten/", {"email": EMAIL})
    form = client.get(inbox.link())["Location"]
    client.post(
        form, {"new_password1": "seven slow trams uphill", "new_password2": "seven slow trams uphill"}
    )
    assert guess(client, "seven slow trams uphill").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_guesses_at_the_same_moment_are_all_counted() -> None:
    User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    futures = in_threads(30, lambda number: guess(Client(), f"guess {number}").status_code)
    assert 429 in [future.result() for future in futures]
    assert guess(Client(), PASSWORD).status_code == 429


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8::7", "2001:db8::"),
        ("", None),
        ("unix:", None),
    ],
)
def test_an_ip_address_is_counted_in_one_form(rf: Any, address: str, counted: str | None) -> None:
    assert read_ip_address(rf.get("/", REMOTE_ADDR=address)) == counted


# Who has an account.


def test_a_wrong_password_and_an_unknown_email_look_the_same(ada: User, client: Client) -> None:
    User.objects.create_user("gone@example.com", "gone@example.com", PASSWORD, is_active=False)
    User.objects.create_user("api@example.com", "api@example.com")
    pages = [
        without_tokens(guess(client, password, email)).replace(email, "")
        for email, password in (
            (EMAIL, "wrong"),
            ("nobody@example.com", "wrong"),
            ("gone@example.com", PASSWORD),
            ("api@example.com", "wrong"),
        )
    ]
    assert len(set(pages)) == 1
    assert "don’t match" in pages[0]


def test_an_unknown_email_is_locked_like_a_known_one(ada: User, client: Client) -> None:
    answers = [guess(client, email="nobody@example.com").status_code for _ in range(12)]
    assert answers == [200] * 9 + [429] * 3


@pytest.mark.parametrize(("email", "work"), [(EMAIL, "verify"), ("nobody@example.com", "encode")])
def test_a_guess_costs_one_hash_whether_there_is_an_account_or_not(
    ada: User, client: Client, monkeypatch: pytest.MonkeyPatch, email: str, work: str
) -> None:
    """So the response time reveals nothing: verifying a password and encoding one are the same work."""
    hashes: list[str] = []

    def count(name: str) -> None:
        method = getattr(QuickHasher, name)

        def counted(*args: Any) -> Any:
            hashes.append(name)
            return method(*args)

        monkeypatch.setattr(QuickHasher, name, counted)

    count("verify")
    count("encode")
    guess(client, email=email)
    assert hashes == [work]


@pytest.mark.parametrize("page", ["sign-up", "forgotten"])
def test_asking_for_an_email_does_not_reveal_whether_there_is_an_account(
    ada: User, inbox: Mailbox, page: str
) -> None:
    answers = []
    for email in (EMAIL, "nobody@example.com"):
        client = Client()
        with CaptureQueriesContext(connection) as queries:
            response = client.post(f"/account/{page}/", {"email": email}, follow=True)
        text = without_tokens(response).replace(email, "")
        answers.append((response.redirect_chain, text, len(queries)))
    assert answers[0] == answers[1]


def test_signing_up_again_emails_the_way_to_the_existing_account(
    ada: User, client: Client, inbox: Mailbox
) -> None:
    client.post("/account/sign-up/", {"email": EMAIL, "next": "/cart/"})
    (email,) = inbox.deliver()
    assert email["To"] == EMAIL
    assert "already have an account" in text_of(email)
    assert "/account/sign-in/?next=%2Fcart%2F" in text_of(email)
    assert "/sign-up/" not in text_of(email)
    assert User.objects.count() == 1


def test_the_outbox_stores_no_secret(ada: User, client: Client, inbox: Mailbox) -> None:
    client.post("/account/forgotten/", {"email": EMAIL})
    client.post("/account/sign-up/", {"email": "nobody@example.com"})
    stored = OutgoingMessage.objects.order_by("id").values_list("kind", "recipient", "arguments", "error")
    waiting = [
        ("new_password", EMAIL, {"language": "en"}, ""),
        (
            "sign_up",
            "nobody@example.com",
            {"language": "en", "following": ""},
            "",
        ),
    ]
    assert list(stored) == waiting
    assert len(inbox.deliver()) == 2
    assert list(stored.all()) == waiting


# Redirects to other hosts.


@pytest.mark.parametrize("following", ELSEWHERE)
def test_nobody_is_redirected_to_another_host(
    ada: User, client: Client, inbox: Mailbox, following: str
) -> None:
    page = client.get("/account/sign-in/", {"next": following}).content.decode()
    assert "evil" not in page
    assert "javascript:" not in page
    form = {"username": EMAIL, "password": PASSWORD, "next": following}
    assert Client().post("/account/sign-in/", form)["Location"] == "/account/"
    out = Client()
    out.force_login(ada)
    assert out.post("/account/sign-out/", {"next": following})["Location"] == "/"
    again = Client()
    again.force_login(ada)
    led_to = again.get("/account/sign-in/", {"next": following}).get("Location")
    assert led_to == (None if "\x00" in following else "/account/")  # no url has a NUL
    client.post("/account/sign-up/", {"email": "new@example.com", "next": following})
    password = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post(inbox.link(), password)["Location"] == "/account/"


@pytest.mark.parametrize("host", ["testserver:8443", "evil.example", "evil.example:443"])
def test_an_emailed_link_begins_with_public_url_whatever_the_request_says(
    ada: User, catalogue: None, client: Client, inbox: Mailbox, settings: Any, host: str
) -> None:
    """A host that is allowed, perhaps by a wildcard, is not thereby the shop's."""
    settings.ALLOWED_HOSTS = ["*"]
    settings.CONFIG = replace(settings.CONFIG, public_url="https://shop.example:8443")
    order = shop_order()
    which = {"number": str(order.order_id), "email": EMAIL}
    for path, form in (
        ("/account/forgotten/", {"email": EMAIL}),
        ("/account/sign-up/", {"email": EMAIL, "next": f"http://{host}/cart/"}),
        ("/account/sign-up/", {"email": "new@example.com", "next": f"http://{host}/cart/"}),
        ("/orders/find/", which),
    ):
        client.post(path, form, headers={"Host": host}, secure=True)
    emails = [text_of(email) for email in inbox.deliver()]
    assert len(emails) == 4
    urls = [re.findall(r"https?://\S+", text) for text in emails]
    assert all(urls)
    assert {url.rpartition("://")[2].partition("/")[0] for each in urls for url in each} == {
        "shop.example:8443"
    }
    assert "evil" not in "".join(emails)


def test_a_message_that_an_earlier_release_posted_is_sent_and_its_site_ignored(
    ada: User, inbox: Mailbox
) -> None:
    earlier = {"site": "http://evil.example", "language": "en", "following": ""}
    for kind, recipient in (
        (MessageKind.SIGN_UP, "new@example.com"),
        (MessageKind.NEW_PASSWORD, EMAIL),
    ):
        post(kind=kind, recipient=recipient, arguments=earlier)
    emails = inbox.deliver()
    assert [len(links(email)) for email in emails] == [1, 1]
    assert not any("evil" in text_of(email) for email in emails)


def test_a_foreign_host_gets_into_no_email(ada: User, client: Client, inbox: Mailbox) -> None:
    response = client.post("/account/forgotten/", {"email": EMAIL}, headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert inbox.deliver() == []
