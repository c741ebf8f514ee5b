"""A hand-over names the pauses that have ended in its time: who paused what, from when to when, and why."""

from datetime import timedelta

import pytest

from orders.models import AuditEntry, Circuit
from orders.selectors.database_clock import now
from orders.selectors.desk.ended_pauses import EndedPause, PausedKind, ended_pauses
from orders.services.audit import Actor
from orders.services.operators import agents, order_acts
from orders.services.operators.pausing_intake import pause_intake, resume_intake
from orders.services.operators.pausing_orders import pause_order, resume_order
from orders.services.operators.pausing_steps import pause_step, resume_step
from tests.support.desk import OLGA
from tests.support.factories import ago, ahead, make_order
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
ADA = Actor(name="ada")
STEP = {"workflow": "fulfil-order", "step": "capture-payment"}


def ended(hours: int = 8) -> list[EndedPause]:
    return list(ended_pauses(since=now() - timedelta(hours=hours), now=now()))


def what(pauses: list[EndedPause]) -> set[tuple[str, str, str, str, str]]:
    return {(pause.kind, pause.name, pause.by, pause.reason, pause.ended_by) for pause in pauses}


def test_what_was_paused_and_resumed_is_named_with_both_people_and_the_reason() -> None:
    Circuit.objects.create(agent="carrier")
    order_id = make_order({"mix": "not_started"}, process_state="pending").order_id
    cancelled = make_order({"mix": "not_started"}, process_state="pending").order_id
    pause_intake(actor=OLGA, reason="stock-taking")
    pause_intake(actor=ADA, reason="too late")
    resume_intake(actor=ADA)
    resume_intake(actor=OLGA)
    pause_step(**STEP, actor=OLGA, reason="it charges twice")
    resume_step(**STEP, actor=OLGA)
    agents.pause_agent(agent="carrier", actor=ADA, reason="moving")
    agents.pause_agent(agent="carrier", actor=OLGA, reason="me too")
    agents.resume_agent(agent="carrier", actor=OLGA)
    for each in (order_id, cancelled):
        pause_order(order_id=each, actor=ADA, reason="she called")
    resume_order(order_id=order_id, actor=ADA)
    order_acts.compensate(order_id=cancelled, actor=OLGA, reason="she called again")
    pause_step(**STEP, actor=OLGA, reason="still paused")
    olga = OLGA.name
    assert what(ended()) == {
        (PausedKind.INTAKE, "", olga, "stock-taking", "ada"),
        (PausedKind.STEP, "fulfil-order/capture-payment", olga, "it charges twice", olga),
        (PausedKind.AGENT, "carrier", "ada", "moving", olga),
        (PausedKind.ORDER, str(order_id), "ada", "she called", "ada"),
        (PausedKind.ORDER, str(cancelled), "ada", "she called", olga),
    }
    assert [pause.ended_at for pause in ended()] == sorted((each.ended_at for each in ended()), reverse=True)


def test_a_pause_whose_time_was_over_ended_then_and_one_outside_of_the_range_is_left_out() -> None:
    for seconds in (60_000, 4_000):  # the first ended before the range, the second in it
        until = ago(seconds - 600)
        AuditEntry.objects.create(
            actor="ada",
            act="pause intake",
            target="intake of orders",
            reason="r",
            at=ago(seconds),
            after={"until": until.isoformat()},
        )
    (pause,) = ended()
    assert (pause.ended_by, pause.ended_at) == ("", until)
    assert pause.seconds == pytest.approx(600, abs=5)
    pause_intake(actor=OLGA, reason="new", until=ahead(600))
    assert len(ended()) == 1
    resume_intake(actor=OLGA)
    assert [each.reason for each in ended()] == ["new", "r"]
    assert len(ended(hours=24)) == 3


def test_page_text_and_api_have_them() -> None:
    order_id = make_order({"mix": "not_started"}, process_state="pending").order_id
    pause_order(order_id=order_id, actor=ADA, reason="she called")
    resume_order(order_id=order_id, actor=OLGA)
    pause_step(**STEP, actor=ADA, reason="it charges twice")
    resume_step(**STEP, actor=ADA)
    reader = signed_in(person("viewer"))
    page = text_of(reader.get("/console/handover/"))
    assert "capture-payment of fulfil-order: paused by ada from " in page and "ended by ada." in page
    text = reader.get("/console/handover.txt").content.decode()
    assert "Pauses that ended:" in text
    assert f"order {order_id}: paused by ada, " in text and "(she called)" in text
    first = api_client(token_of(person("viewer", "vic"))).get("/api/v1/handover").json()["ended_pauses"][0]
    assert (first["kind"], first["name"]) == ("step", "fulfil-order/capture-payment")
    assert (first["by"], first["reason"], first["ended_by"]) == ("ada", "it charges twice", "ada")
