"""The console's page of the outbox: what it shows and hides, and retrying what failed."""

from typing import Any

import pytest
from django.test import Client

from orders.models import AlertGroup, AuditEntry, OutgoingMessage
from orders.outbox.queue import deliver_due
from orders.selectors.desk.outbox import SHOWN, mask
from orders.services import accounts as account_services
from orders.wording import skipped_messages
from tests.support import mailbox
from tests.support.factories import ago, ahead
from tests.support.mailbox import Mailbox
from tests.support.order_bodies import EMAIL
from tests.support.people import person, signed_in
from tests.web.markup import Markup

pytestmark = pytest.mark.django_db


def a_failure(**fields: Any) -> OutgoingMessage:
    """A sign-up email that was given up."""
    failed = {"kind": "sign_up", "recipient": EMAIL, "state": "failed", "attempts": 3, "error": "451 not now"}
    arguments = {"language": "en"}
    times = {"give_up_at": ago(60), "ended_at": ago(60)}
    return OutgoingMessage.objects.create(**(failed | times | {"arguments": arguments} | fields))


def text_of(client: Client, query: str = "") -> str:
    answer = client.get(f"/console/outbox/{query}")
    assert answer.status_code == 200
    text = answer.content.decode()
    assert Markup(text).offences == []
    return text


def test_it_shows_each_message_with_its_state_attempts_error_and_next_try() -> None:
    group = AlertGroup.objects.create(kind="outage", agent="carrier", code="unreachable", pattern="no answer")
    OutgoingMessage.objects.create(
        kind="alert",
        channel="webhook",
        recipient="chat.example",
        group=group,
        attempts=2,
        error="Connection refused",
        due_at=ahead(600),
        give_up_at=ahead(6000),
    )
    a_failure()
    text = text_of(signed_in(person("viewer")))
    for shown in ("chat.example", "Connection refused", "451 not now", "waiting", "failed", "sign-up"):
        assert shown in text
    assert f'href="/console/alerts/{group.pk}/"' in text


def test_it_hides_customers_email_addresses_and_every_link_that_was_sent(inbox: Mailbox) -> None:
    account_services.ask_to_sign_up(email=EMAIL, following="", language="en")
    (email,) = inbox.deliver()
    token = mailbox.text_of(email).partition("/account/sign-up/")[2].split("/")[0]
    text = text_of(signed_in(person("admin")))
    assert 'a…</span><span class="piece">@example.com' in text
    assert EMAIL not in text
    assert token
    assert token not in text


def test_its_views_and_pages_show_everything_once() -> None:
    client = signed_in(person("viewer"))
    assert "Nothing has been sent yet." in text_of(client)
    assert "No message has failed." in text_of(client, "?view=failed")
    for _ in range(SHOWN + 1):
        a_failure()
    first = client.get("/console/outbox/?view=failed")
    second = client.get(f"/console/outbox/?{first.context['after']}")
    assert (len(first.context["rows"]), len(second.context["rows"])) == (SHOWN, 1)
    assert second.context["after"] == ""
    assert "No message is waiting." in text_of(client, "?view=waiting")
    assert len(client.get("/console/outbox/?before=x").context["rows"]) == SHOWN


def test_it_says_why_a_message_was_skipped() -> None:
    client = signed_in(person("viewer"))
    assert "No message was skipped." in text_of(client, "?view=skipped")
    group = AlertGroup.objects.create(kind="outage", agent="carrier", code="unreachable", pattern="no answer")
    for kind in (
        "sign_up",
        "new_password",
        "order_link",
        "webhook_off",
        "handover",
        "approval",
        "order_update",
    ):
        a_failure(state="skipped", error="", kind=kind)
    for channel in ("email", "webhook"):
        a_failure(state="skipped", error="", kind="alert", channel=channel, group=group)
    text = text_of(client, "?view=skipped")
    for reason in (*skipped_messages.REASONS.values(), *skipped_messages.ALERTS.values()):
        assert text.count(reason) == 1
    assert "Nothing has been sent yet." in text_of(client, "?view=sent")


def test_an_operator_retries_what_failed_and_it_is_in_the_audit_log(inbox: Mailbox) -> None:
    message = a_failure()
    client = signed_in(person("operator"))
    for _ in range(2):  # two clicks are one effect
        answer = client.post(f"/console/outbox/{message.pk}/retry/", follow=True)
        assert "The message will be sent again." in answer.content.decode()
    assert deliver_due() == 1
    message.refresh_from_db()
    assert (message.state, message.attempts, message.error) == ("sent", 4, "")
    entry = AuditEntry.objects.get(act="retry message")
    assert entry.target == f"message {message.pk}"
    assert (entry.before["state"], entry.after["state"]) == ("failed", "queued")
    answer = client.post(f"/console/outbox/{message.pk}/retry/", follow=True)
    assert "The message is sent, so it was not sent again." in answer.content.decode()
    assert client.post("/console/outbox/4711/retry/").status_code == 404


def test_a_viewer_cannot_retry_and_the_attempt_is_in_the_audit_log() -> None:
    message = a_failure()
    client = signed_in(person("viewer"))
    assert "Retry" not in text_of(client)
    assert client.post(f"/console/outbox/{message.pk}/retry/").status_code == 403
    entry = AuditEntry.objects.get(allowed=False)
    assert (entry.act, entry.target) == ("retry message", f"message {message.pk}")
    message.refresh_from_db()
    assert message.state == "failed"


def test_an_email_address_is_masked_but_for_its_first_letter_and_its_domain() -> None:
    assert [mask(email) for email in (EMAIL, "@x", "", "no at")] == ["a…@example.com", "…@x", "…", "…"]
