"""The hand-over: what a shift leaves the next one, as a page, as text and in the API; its note; and to whom it goes."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.engine.alerts import close_alerts, open_outage
from orders.models import Alert, AlertGroup, AuditEntry, Circuit, HandoverNote, OutgoingMessage
from orders.outbox.queue import deliver_due
from orders.services.operators import bulk as bulk_services
from orders.services.operators import causes, snoozes
from tests.support.desk import OLGA, failed_orders, group_of
from tests.support.factories import ago, ahead, make_alert, make_order, make_purchase
from tests.support.mailbox import Mailbox, mailbox
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import assert_problem
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
HANDOVER = "/console/handover/"
API = "/api/v1/handover"


@pytest.fixture
def olga(db: None) -> Client:
    person("operator", "otto")
    return signed_in(person("operator", "olga"))


@pytest.fixture
def mail(settings: Any) -> Iterator[Mailbox]:
    with mailbox(settings) as box:
        settings.CONFIG = replace(
            settings.CONFIG, public_url="https://shop.example", alert_email="ops@example.org"
        )
        yield box


def a_shift() -> None:
    """An open cause that otto has, a snoozed one, one that has ended, and what else a shift leaves."""
    failed_orders(2, code="bad_answer", message="open one")
    causes.assign(group_id=group_of("bad_answer").pk, actor=OLGA, owner="otto")
    failed_orders(1, code="timeout", message="quiet one")
    snoozes.snooze(group_id=group_of("timeout").pk, actor=OLGA, until=ahead(7_200))
    close_alerts(failed_orders(1, code="dns", message="past one"), by="olga", resolution="resubmitted")
    old = failed_orders(1, code="tls", message="yesterday")
    close_alerts(old, by="olga", resolution="skipped")
    Alert.objects.filter(order_id__in=old).update(opened_at=ago(90_000), closed_at=ago(80_000))
    AlertGroup.objects.filter(code="tls").update(last_at=ago(90_000))
    bulk_services.create(kind="resubmit", order_ids=old, selection="some", actor=OLGA)
    Circuit.objects.create(agent="oven", paused=True, held_by="olga", held_reason="new filter")
    Circuit.objects.create(agent="van", forced="open", forced_until=ahead(600), held_by="otto")
    refund = make_order({"mix": "compensating"}, process_state="error", goal="compensate")
    make_purchase(refund.order_id, total=1_250)
    make_alert(refund.order_id, kind="compensation_failed", code="refused", message="no refund")
    make_order({"mix": {"state": "failed", "outcome": "unknown"}}, process_state="error")
    make_order(process_state="processed", finished_at=ago(600))
    make_order(process_state="compensated", goal="compensate", finished_at=ago(600))


def test_the_page_says_what_is_open_and_whose_what_is_held_and_what_waits(olga: Client) -> None:
    a_shift()
    text = text_of(olga.get(HANDOVER))
    assert "otto" in text and "open one" in text and "quiet one" in text and "past one" in text
    assert "yesterday" not in text
    assert "oven : paused by olga, until somebody resumes it. new filter" in text
    assert "van : forced open by otto, until " in text
    assert "1 step to settle" in text and "1 refund or other reversal that failed" in text
    assert "yesterday" in text_of(olga.get(f"{HANDOVER}?hours=24"))
    since = f"{ago(60):%Y-%m-%dT%H:%M}"
    assert f"From {since.replace('T', ' ')} to " in text_of(olga.get(f"{HANDOVER}?since={since}"))


def test_the_api_has_the_same_with_the_same_text(olga: Client) -> None:
    a_shift()
    body = api_client(token_of(person("viewer"))).get(API).json()
    assert body["figures"] == {"placed": 9, "processed": 1, "failed": 5, "cancelled": 1}
    assert {cause["code"]: cause["owner"] for cause in body["open"]} == {"bad_answer": "otto", "refused": ""}
    assert [cause["code"] for cause in body["snoozed"]] == ["timeout"]
    assert [(time["code"], time["resolution"]) for time in body["ended"]] == [("dns", "resubmitted")]
    assert [agent["state"] for agent in body["agents"]] == ["paused", "forced open"]
    assert (body["waiting"]["failed_refunds"], body["waiting"]["to_settle"]) == (1, 1)
    assert [action["state"] for action in body["bulk_actions"]] == ["running"]
    page = olga.get("/console/handover.txt")
    assert page["Content-Type"] == "text/plain; charset=utf-8"
    heads, text = [part.split("\n", 1)[1] for part in (body["text"], page.content.decode())]
    assert heads == text
    assert "bad_answer (“open one”): 2 orders, since " in text and "owner otto" in text
    assert "oven: paused by olga (new filter)" in text


def test_the_note_of_who_leaves_is_at_the_top_of_the_overview_until_the_next_or_for_a_day(
    olga: Client,
) -> None:
    answer = olga.post(
        "/console/handover/note/", {"text": "The oven\nis slow <b>", "since": ago(3_600).isoformat()}
    )
    assert answer.status_code == 302
    olga.post("/console/handover/note/", {"text": "The oven\nis slow <b>"})
    note = HandoverNote.objects.get()
    assert (note.by, note.text) == ("olga", "The oven\nis slow <b>")
    overview = signed_in(person("viewer")).get("/console/").content.decode()
    assert "is slow &lt;b&gt;" in overview
    otto = api_client(token_of(person("operator", "petra")))
    assert otto.post(f"{API}/notes", {"text": "All is well."}, format="json").json()["result"] == "done"
    text = text_of(olga.get("/console/"))
    assert "All is well." in text and "is slow" not in text
    HandoverNote.objects.update(at=ago(25 * 3_600))
    assert "All is well." not in text_of(olga.get("/console/"))
    assert AuditEntry.objects.filter(act="write handover", target=f"handover {note.pk}").exists()


def test_a_note_without_text_is_refused(olga: Client) -> None:
    page = olga.post("/console/handover/note/", {"text": " "})
    assert page.status_code == 422 and "Write the note before you save it." in page.content.decode()
    assert not HandoverNote.objects.exists()


def test_it_is_sent_to_the_alerts_address_or_an_operators_account_and_to_nobody_else(
    olga: Client, mail: Mailbox
) -> None:
    failed_orders(1, code="dns")
    client = api_client(token_of(person("operator", "petra")))
    since = ago(3_600).isoformat()
    for to in ("ada@example.com", "customer"):
        answer = client.post(f"{API}/send", {"since": since, "to": to}, format="json")
        assert_problem(answer, "act_refused")
    assert client.post(f"{API}/send", {"since": since}, format="json").json()["result"] == "done"
    assert client.post(f"{API}/send", {"since": since}, format="json").json()["result"] == "already"
    olga.post("/console/handover/send/", {"to": "otto", "since": since})
    assert deliver_due() == 2
    assert sorted(email["To"] for email in mail.emails) == ["ops@example.org", "otto@example.com"]
    body = mail.emails[0].get_content()
    assert "petra sent you this hand-over." in body and "https://shop.example/console/handover/" in body
    assert "dns" in body
    acts = AuditEntry.objects.filter(act="send handover").order_by("id").values_list("allowed", flat=True)
    assert list(acts) == [False, False, True, True]


def test_a_form_to_send_it_that_is_refused_keeps_the_choice_and_says_at_it_what_is_wrong(
    olga: Client,
) -> None:
    since = ago(3_600).isoformat()
    page = olga.post("/console/handover/send/", {"to": "", "since": since}, follow=True).content.decode()
    assert (
        "Choose an account, or have ALERT_EMAIL set" in page.partition('name="to"')[2]
        and f'value="{since}"' in page
    )
    User.objects.filter(username="otto").update(email="")
    page = olga.post("/console/handover/send/", {"to": "otto", "since": since}, follow=True).content.decode()
    assert "has no email address" in page.partition('name="to"')[2]
    assert not OutgoingMessage.objects.exists()


def test_only_addresses_that_there_are_can_be_chosen(olga: Client, mail: Mailbox, settings: Any) -> None:
    def choices() -> list[str]:
        page = olga.get(HANDOVER).content.decode()
        form = page.partition('action="/console/handover/send/"')[2].partition("</form>")[0]
        return re.findall(r'<option value="(\w*)"', form)

    assert choices() == ["", "olga", "otto"]
    settings.CONFIG = replace(settings.CONFIG, alert_email="")
    assert choices() == ["olga", "otto"]
    User.objects.update(email="")
    assert choices() == []
    assert "give an operator’s account an email address." in text_of(olga.get(HANDOVER))


def test_a_cause_is_named_by_what_the_service_said_in_quotation_marks(olga: Client) -> None:
    failed_orders(1, code="refused", message="no such card")
    for path in ("/console/", "/console/alerts/", HANDOVER, "/console/handover.txt"):
        page = olga.get(path).content.decode()
        assert "“no such card”" in page and page.count("no such card") == page.count("“no such card”"), path


def test_nothing_is_sent_to_somebody_who_is_no_operator_any_more(olga: Client, mail: Mailbox) -> None:
    olga.post("/console/handover/send/", {"to": "otto", "since": ago(3_600).isoformat()})
    message = OutgoingMessage.objects.get()
    assert message.recipient == "otto@example.com"
    User.objects.filter(username="otto").update(is_active=False)
    assert deliver_due() == 0
    message.refresh_from_db()
    assert message.state == "skipped"


def test_an_outage_is_handed_over_without_orders(olga: Client) -> None:
    open_outage("kitchen", code="no_host", message="nobody bakes")
    text = olga.get("/console/handover.txt").content.decode()
    assert "kitchen: no_host (nobody bakes): since " in text and "At risk" not in text
