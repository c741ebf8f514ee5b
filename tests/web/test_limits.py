"""Nobody does something so often that others pay for it: each limit refuses with 429 and says when to go on."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.test import Client
from django.urls import NoReverseMatch, reverse
from rest_framework.test import APIClient

from orders.access import limited_requests, limits
from orders.fields.order_numbers import EXAMPLE
from orders.models import AuditEntry, OutgoingMessage
from orders.outbox.account_emails import compose_sign_up
from orders.outbox.queue import deliver_due
from tests.support.mailbox import Mailbox
from tests.support.order_bodies import EMAIL, order_body
from tests.support.people import PASSWORD, person, signed_in
from tests.web.conftest import Limits
from tests.web.helpers import assert_problem, pass_time
from tests.web.shopping import FORM

ELSEWHERE = {"REMOTE_ADDR": "203.0.113.9"}


def assert_refused(response: Any, *, within: int = 3_600) -> None:
    """The page that says so, with the time after which the same request is answered."""
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= within
    assert "You’ve done that too often" in response.content.decode()


@pytest.mark.django_db
def test_guests_orders_are_counted_by_address_session_and_recipient(
    catalogue: None, only: Limits, client: Client
) -> None:
    only(checkout__session=2)
    client.get("/cart/")
    client.post("/cart/add/", {"sku": "tidal-lines", "quantity": 1})
    for _ in range(2):
        assert client.post("/checkout/", {}).status_code == 200
    assert_refused(client.post("/checkout/", {}), within=1_800)
    other = Client()
    assert other.post("/checkout/", {}).status_code == 302, "another session is not concerned"

    only(checkout__recipient=1)
    client.post("/checkout/", FORM)
    assert_refused(Client(**ELSEWHERE).post("/checkout/", {**FORM, "email": f" {EMAIL.upper()} "}))
    assert client.post("/checkout/", {**FORM, "email": "bob@example.org"}).status_code != 429

    only(checkout__address=1)
    client.post("/checkout/", FORM)
    assert_refused(Client().post("/checkout/", {**FORM, "email": "carol@example.org"}))
    assert Client(**ELSEWHERE).post("/checkout/", FORM).status_code != 429


@pytest.mark.django_db
def test_a_customers_orders_are_counted_by_her_account(catalogue: None, only: Limits) -> None:
    only(orders__account=1, checkout__address=1)
    ada = Client()
    ada.force_login(person("ada"))
    assert ada.post("/checkout/", FORM).status_code != 429
    assert_refused(ada.post("/checkout/", FORM))
    bob = Client()
    bob.force_login(person("bob"))
    assert bob.post("/checkout/", FORM).status_code != 429


@pytest.mark.django_db
def test_a_customers_orders_for_an_address_that_is_not_hers_are_counted_by_recipient(
    catalogue: None, only: Limits
) -> None:
    only(checkout__recipient=1)
    ada, user = Client(), person("ada")
    user.email = "ada@example.org"
    user.save()
    ada.force_login(user)
    for _ in range(3):
        assert ada.post("/checkout/", {**FORM, "email": " Ada@Example.org "}).status_code != 429
    assert ada.post("/checkout/", {**FORM, "email": "victim@example.org"}).status_code != 429
    assert_refused(ada.post("/checkout/", {**FORM, "email": "victim@example.org"}))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("url", "limit", "body"),
    [
        ("/account/sign-up/", "sign_up__address", {"email": EMAIL}),
        ("/account/sign-up/", "emails__address", {"email": EMAIL}),
        ("/account/sign-in/", "sign_in__address", {"username": EMAIL, "password": "a wrong one"}),
        ("/console/sign-in/", "sign_in__address", {"username": "olga", "password": "a wrong one"}),
        ("/admin/login/", "sign_in__address", {"username": "olga", "password": "a wrong one"}),
        ("/account/forgotten/", "emails__address", {"email": EMAIL}),
        ("/orders/find/", "emails__address", {"email": EMAIL, "number": EXAMPLE}),
    ],
)
def test_what_anybody_may_post_is_counted_by_address(
    url: str, limit: str, body: dict[str, str], only: Limits, client: Client
) -> None:
    only(**{limit: 2})
    for _ in range(2):
        assert client.post(url, body).status_code in (200, 302)
    assert_refused(client.post(url, body))
    assert Client(**ELSEWHERE).post(url, body).status_code in (200, 302)
    assert client.get(url).status_code == 200, "looking is free"


@pytest.mark.django_db
def test_carts_are_counted_by_address_since_each_visitor_without_a_cookie_gets_a_session(
    catalogue: None, only: Limits
) -> None:
    only(cart__address=2)
    form = {"sku": "tidal-lines", "quantity": 1}
    for _ in range(2):
        assert Client().post("/cart/add/", form).status_code == 302
    assert_refused(Client().post("/cart/add/", form))
    assert Session.objects.count() == 2
    assert Client(**ELSEWHERE).post("/cart/add/", form).status_code == 302


@pytest.mark.django_db
@pytest.mark.parametrize("url", ["/account/sign-up/", "/account/forgotten/", "/orders/find/"])
def test_nobody_fills_somebodys_mailbox(url: str, only: Limits) -> None:
    only(emails__recipient=3)
    form = {"email": EMAIL, "number": EXAMPLE}
    for number in range(3):
        answer = Client(REMOTE_ADDR=f"203.0.113.{number}").post(url, form)
        assert answer.status_code in (200, 302)
    assert_refused(Client(**ELSEWHERE).post(url, {**form, "email": EMAIL.upper()}))
    assert Client(**ELSEWHERE).post(url, {**form, "email": "bob@example.org"}).status_code in (200, 302)


@pytest.mark.django_db
def test_a_mistake_in_an_orders_number_does_not_count_as_an_email(only: Limits, client: Client) -> None:
    only(emails__address=1, emails__recipient=1)
    for number in ("", "7KXM", "7KXM-93DK"):
        for _ in range(2):
            assert client.post("/orders/find/", {"email": EMAIL, "number": number}).status_code == 200
    assert client.post("/orders/find/", {"email": EMAIL, "number": EXAMPLE}).status_code == 200
    refused = client.post("/orders/find/", {"email": EMAIL, "number": EXAMPLE})
    assert_refused(refused)
    assert '<a class="button" href="/contact/">Contact</a>' in refused.content.decode()


@pytest.mark.django_db
def test_searches_and_exports_are_counted(catalogue: None, only: Limits, client: Client) -> None:
    only(search__address=1, search__account=1, export__account=1)
    assert client.get("/?q=tidal").status_code == 200
    assert_refused(client.get("/?q=tidal"))
    assert client.get("/").status_code == 200
    olga = Client(**ELSEWHERE)
    olga.force_login(person("operator", "olga"))
    for url in ("/console/orders/?q=ada", "/console/orders.csv"):
        assert olga.get(url).status_code == 200
        assert_refused(olga.get(url))


@pytest.mark.django_db
def test_the_results_of_a_bulk_action_count_as_an_export(only: Limits) -> None:
    only(export__account=1)
    olga = signed_in(person("operator", "olga"))
    assert olga.get("/console/bulk/1/").status_code == 404
    assert olga.get("/console/bulk/1/?format=csv").status_code == 404
    assert_refused(olga.get("/console/bulk/1/?format=csv"))
    assert olga.get("/console/bulk/1/").status_code == 404


@pytest.mark.django_db
def test_what_comes_too_often_does_nothing(only: Limits, client: Client) -> None:
    only(emails__address=1)
    for _ in range(5):
        client.post("/account/forgotten/", {"email": EMAIL})
    assert OutgoingMessage.objects.count() == 1


@pytest.mark.django_db
def test_a_limiter_that_cannot_be_asked_lets_through(
    only: Limits, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_buckets: Any) -> None:
        raise OperationalError("the connection is lost")

    only(search__address=1)
    monkeypatch.setattr(limits, "_take", fail)
    assert client.get("/?q=tidal").status_code == 200


@pytest.mark.django_db
def test_every_limit_of_a_page_exists_and_every_page_that_is_named(only: Limits) -> None:
    posted = {**limited_requests.POSTED, **settings.LIMITED_POSTS}
    limited_requests.check_declared(posted)
    arguments = {"account:reset": ["a", "b"], "account:finish": ["a"], "order:guest-renew": ["a"]}
    for page in [*posted, *limited_requests.EXPORTS, *settings.LIMITED_SEARCHES]:
        try:
            reverse(page, args=arguments.get(page))
        except NoReverseMatch:
            pytest.fail(f"no page {page}")


# The audit log, which keeps everything for ever.


def test_nobody_fills_the_audit_log_with_acts_that_are_refused(
    bob: APIClient, only: Limits, caplog: pytest.LogCaptureFixture
) -> None:
    only(refusals__account=3)
    browser = signed_in(person("customer", "ada"))
    for _ in range(5):
        assert browser.post("/console/agents/mail/pause/", {"reason": "x"}).status_code == 403
        assert bob.post("/api/v1/agents/mail/pause", {"reason": "x"}).status_code == 403
    recorded = AuditEntry.objects.order_by("actor").values_list("actor", "allowed")
    assert list(recorded) == [("ada", False)] * 3 + [("bob", False)] * 3
    lines = [line for line in caplog.messages if "not recorded" in line]
    assert (
        len([line for line in lines if not line.startswith("left out")]) == 4
    )  # that is of earlier requests
    pass_time(3_600)
    bob.post("/api/v1/agents/mail/pause", {"reason": "x"})
    assert AuditEntry.objects.filter(actor="bob").count() == 4


# Emails to people who did not ask for them.


def test_an_address_that_nobody_has_confirmed_gets_one_email(inbox: Mailbox, client: Client) -> None:
    for _ in range(3):
        client.post("/account/sign-up/", {"email": EMAIL})
        deliver_due()
    assert len(inbox.emails) == 1
    assert [message.state for message in OutgoingMessage.objects.order_by("pk")] == [
        "sent",
        "skipped",
        "skipped",
    ]
    OutgoingMessage.objects.update(ended_at="2020-01-01T00:00:00Z")
    client.post("/account/sign-up/", {"email": EMAIL})
    deliver_due()
    assert len(inbox.emails) == 2, "the first link is no longer valid"


def test_of_two_emails_that_are_sent_at_the_same_time_the_later_is_skipped(client: Client, db: None) -> None:
    for _ in range(2):
        client.post("/account/sign-up/", {"email": EMAIL})
    earlier, later = OutgoingMessage.objects.order_by("pk")
    OutgoingMessage.objects.update(state="sending")
    assert len(compose_sign_up(earlier)) == 1
    assert compose_sign_up(later) == []


def test_somebody_with_an_account_is_told_so_each_time(inbox: Mailbox, client: Client) -> None:
    User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    for number in range(2):
        client.post("/account/sign-up/", {"email": EMAIL})
        deliver_due()
        assert len(inbox.emails) == number + 1


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["name", "street", "city", "postal_code"])
def test_no_advertisement_is_mailed_in_a_postal_address(
    part: str, catalogue: None, ada: APIClient, client: Client
) -> None:
    text = "You won! Claim at https://win.example"
    client.post("/cart/add/", {"sku": "tidal-lines", "quantity": 1})
    page = client.post("/checkout/", {**FORM, part: text})
    assert page.status_code == 200
    assert "This can’t contain a web address." in page.content.decode()
    body = order_body()
    problem = assert_problem(
        ada.post("/api/v1/orders", {**body, "ship_to": {**body["ship_to"], part: text}}), "validation_failed"
    )
    assert problem["errors"] == [
        {"pointer": f"/ship_to/{part}", "detail": "This must not contain a web address."}
    ]
