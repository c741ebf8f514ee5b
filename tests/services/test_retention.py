"""Finished orders move to the archive, records that are too old are deleted, and nothing else."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from django_q.models import Task
from uuid_utils.compat import uuid7

from orders.access import api_tokens
from orders.engine.runtime import brief_batches
from orders.engine.runtime.brief_batches import LONGEST, Pace
from orders.models import (
    Alert,
    ApiToken,
    ArchivedOrder,
    BulkAction,
    BulkItem,
    Event,
    LoggedRequest,
    OrderLine,
    OrderProcess,
    OutgoingMessage,
    SetAside,
    StatusCount,
    StatusMessage,
    StepState,
    SubmissionKey,
    SubmissionMessage,
    SweepRecord,
)
from orders.retention import moving, records
from orders.retention.logged_requests import delete_beyond_most
from orders.selectors.archived_orders import opened
from sasweb import logs
from tests.support.factories import make_alert, make_item, make_order
from tests.support.finished_orders import finished_order, is_stored, retain
from tests.support.workflows import CAKE

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["processed", "compensated"])
def test_a_finished_order_moves_with_all_its_rows(state: str) -> None:
    order_id = finished_order(state=state)
    recent = finished_order(days=89)
    last = Event.objects.filter(order_id=order_id).order_by("-id")[0].pk
    assert retain()["finished orders"] == 1
    assert is_stored(recent)
    assert not is_stored(order_id)
    for model in (StatusMessage, Event, Alert):
        assert not model.objects.filter(order_id=order_id).exists()
    assert not StepState.objects.filter(process_id=order_id).exists()
    assert not OrderLine.objects.filter(order_id=order_id).exists()
    archived = ArchivedOrder.objects.get()
    assert (archived.order_id, archived.state, archived.total, archived.last_event) == (
        order_id,
        state,
        3_900,
        last,
    )
    document = archived.document
    assert {name: len(document[name]) for name in ("lines", "steps", "events", "statuses", "alerts")} == {
        "lines": 1,
        "steps": len(CAKE.steps),
        "events": 2,
        "statuses": 1,
        "alerts": 1,
    }
    assert retain()["finished orders"] == 0


def test_the_items_of_a_step_move_in_their_order_with_the_list_of_their_results() -> None:
    order = OrderProcess.objects.get(pk=finished_order())
    for number in range(1, 12):
        make_item(order, "bake", number, state="completed", agent="oven", result={"layer": number})
    layers = [{"layer": number} for number in range(1, 12)]
    StepState.objects.filter(process=order, name="bake").update(agent="", result=layers)
    assert retain()["finished orders"] == 1
    archived = opened(ArchivedOrder.objects.get())
    results = {step.name: step.result for step in archived.steps}
    items = [f"bake:{number}" for number in range(1, 12)]
    assert list(results) == ["mix", "heat-oven", "bake", *items, "decorate", "box", "deliver", "tell"]
    assert results["bake"] == [results[item] for item in items]


@pytest.mark.parametrize("state", ["pending", "processing", "error"])
def test_no_unfinished_order_moves_however_old(state: str) -> None:
    old = timezone.now() - timedelta(days=1_000)
    order = make_order(process_state=state, created_at=old, finished_at=old)
    assert retain()["finished orders"] == 0
    assert is_stored(order.order_id)


def test_an_order_that_was_compensated_after_a_refusal_moves() -> None:
    """The refused step stays failed for good, and has nothing to compensate."""
    order_id = finished_order(state="compensated")
    StepState.objects.filter(process_id=order_id, position=1).update(state="failed", outcome="refused")
    assert retain()["finished orders"] == 1
    assert not is_stored(order_id)


def test_an_order_with_an_open_alert_or_a_failed_step_stays() -> None:
    alerted, failed = finished_order(), finished_order()
    Alert.objects.filter(order_id=alerted).delete()
    make_alert(alerted)
    StepState.objects.filter(process_id=failed, position=0).update(state="failed")
    assert retain()["finished orders"] == 0
    assert is_stored(alerted)
    assert is_stored(failed)


def test_orders_that_stay_do_not_keep_later_ones_from_moving() -> None:
    for _ in range(3):
        make_alert_of(finished_order(days=200))
    moved = [finished_order(days=100) for _ in range(3)]
    pace = Pace(size=1, largest=1)
    assert moving.archive_finished(before=timezone.now() - timedelta(days=90), pace=pace).changed == 3
    assert set(ArchivedOrder.objects.values_list("order_id", flat=True)) == set(moved)


def make_alert_of(order_id: UUID) -> None:
    Alert.objects.filter(order_id=order_id).delete()
    make_alert(order_id)


def test_archived_orders_are_kept_for_ever_by_default() -> None:
    order_id = finished_order()
    retain()
    ArchivedOrder.objects.update(archived_at=timezone.now() - timedelta(days=10_000))
    assert "archived orders" not in retain()
    assert ArchivedOrder.objects.get().order_id == order_id


def test_an_idempotency_key_is_kept_as_long_as_its_order_can_be_found() -> None:
    order_id = finished_order(days=400)
    retain()
    assert SubmissionKey.objects.get().order_id == order_id
    assert moving.delete_archived(before=timezone.now() - timedelta(days=1)).changed == 0
    assert SubmissionKey.objects.exists()
    assert moving.delete_archived(before=timezone.now() + timedelta(days=1)).changed == 1
    assert not SubmissionKey.objects.exists()
    assert not ArchivedOrder.objects.exists()


def test_a_part_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> int:
        raise RuntimeError("disk")

    monkeypatch.setattr(moving, "archive_finished", fail)
    Task.objects.create(
        id="a" * 32,
        name="old",
        func="f",
        started=timezone.now() - timedelta(days=31),
        stopped=timezone.now() - timedelta(days=31),
        success=False,
    )
    done = retain()
    assert "finished orders" not in done
    assert done["jobs"] == 1


def test_a_slow_batch_is_followed_by_a_smaller_one_and_a_quick_one_by_a_larger_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(brief_batches, "LONGEST", LONGEST)
    pace = Pace(size=100, largest=110)
    pace.note(0.06)
    assert pace.size == 50
    pace.note(0.03)
    assert pace.size == 50
    pace.note(0.01)
    assert pace.size == 62
    pace.note_timeout()
    assert pace.size == 15
    for _ in range(20):
        pace.note(0.0)
    assert pace.size == 110


def test_old_bulk_actions_sweeps_and_jobs_are_deleted() -> None:
    now = timezone.now()
    for days in (89, 91):
        at = now - timedelta(days=days)
        action = BulkAction.objects.create(
            kind="resubmit",
            state="done",
            selection="s",
            by="a",
            created_at=at,
            starts_at=at,
            ended_at=at,
            total=1,
        )
        BulkItem.objects.create(action=action, position=0, order_id=uuid7())
        SweepRecord.objects.create(
            at=at, holder="h", term=1, found=1, recovered=1, escalated=0, steps_timed_out=0
        )
    running = BulkAction.objects.create(
        kind="resubmit", selection="s", by="a", created_at=now - timedelta(days=400), starts_at=now, total=0
    )
    done = retain()
    assert (done["bulk items"], done["bulk actions"], done["sweeps"]) == (1, 1, 1)
    assert BulkAction.objects.filter(pk=running.pk).exists()
    assert BulkItem.objects.count() == SweepRecord.objects.count() == 1


def test_only_old_messages_are_deleted() -> None:
    now = timezone.now()
    for age in (29, 31):
        moment = now - timedelta(days=age)
        StatusMessage.objects.create(queue="q", order_id=uuid7(), kind="received", posted_at=moment)
        for state in ("sent", "skipped", "failed"):
            OutgoingMessage.objects.create(kind="sign_up", state=state, give_up_at=moment, ended_at=moment)
    OutgoingMessage.objects.create(kind="sign_up", state="queued", give_up_at=moment, due_at=moment)
    assert sum(retain().values()) == 3
    assert sum(retain().values()) == 0
    remaining = OutgoingMessage.objects.order_by("state", "-ended_at").values_list("state", flat=True)
    assert list(remaining) == ["failed", "failed", "queued", "sent", "skipped"]
    OutgoingMessage.objects.filter(state="failed").update(ended_at=now - timedelta(days=91))
    assert sum(retain().values()) == 2
    assert StatusMessage.objects.count() == 1


def test_the_count_of_messages_goes_with_its_order_and_stays_while_there_is_one() -> None:
    stored = make_order(process_state="error", reply_to="app-1").order_id
    aside, queued, unknown = uuid7(), uuid7(), uuid7()
    SetAside.objects.create(order_id=aside, client="guest", body={}, reason="no", posted_at=timezone.now())
    SubmissionMessage.objects.create(order_id=queued, client="guest", body={})
    moved = finished_order(days=100)
    for order_id in (stored, aside, queued, unknown, moved):
        StatusCount.objects.create(order_id=order_id, posted=2)
    assert retain()["message counts of no order"] == 1
    assert {*StatusCount.objects.values_list("pk", flat=True)} == {stored, aside, queued}


def test_a_status_is_kept_as_long_as_its_order_is_stored() -> None:
    order = make_order(process_state="error")
    StatusMessage.objects.create(
        queue="q", order_id=order.order_id, kind="received", posted_at=timezone.now() - timedelta(days=400)
    )
    assert sum(retain().values()) == 0
    assert StatusMessage.objects.count() == 1


def test_a_session_is_deleted_a_day_after_it_has_expired() -> None:
    now = timezone.now()
    for name, hours in (("open", 1), ("just expired", -1), ("expired", -25), ("long expired", -900)):
        Session.objects.create(session_key=name, session_data="", expire_date=now + timedelta(hours=hours))
    assert retain()["sessions"] == 2
    assert set(Session.objects.values_list("session_key", flat=True)) == {"open", "just expired"}


def test_a_token_is_deleted_a_month_after_it_has_expired() -> None:
    user, now = User.objects.create(username="ada"), timezone.now()
    ages = {"valid": -1, "expired": 1, "long expired": 31}
    for label, days in ages.items():
        token, _ = api_tokens.mint(user, scopes=[], by="ada", label=label)
        ApiToken.objects.filter(pk=token.pk).update(
            created_at="2020-01-01T00:00Z", expires_at=now - timedelta(days=days)
        )
    assert retain()["expired tokens"] == 1
    assert set(ApiToken.objects.values_list("label", flat=True)) == {"valid", "expired"}


def logged(customer: User, *, days: float = 0, number: int = 1) -> list[int]:
    """Requests in a client's log, and their keys."""
    at = timezone.now() - timedelta(days=days)
    values = {"request_id": "request-1", "method": "POST", "path": "", "status": 202, "token": "sas_"}
    return [
        LoggedRequest.objects.create(customer=customer, at=at, order_ids=[], milliseconds=1, **values).pk
        for _ in range(number)
    ]


def test_a_request_is_logged_for_a_week(settings: Any) -> None:
    ada = User.objects.create(username="ada")
    old, new = logged(ada, days=7.1), logged(ada, days=6.9)
    assert retain()["requests"] == 1
    assert list(LoggedRequest.objects.values_list("pk", flat=True)) == new
    settings.CONFIG = replace(settings.CONFIG, keep_requests=6.0)
    assert retain()["requests"] == 1
    assert old != new


def test_of_each_account_only_the_newest_requests_stay() -> None:
    ada, bob, eve = (User.objects.create(username=name) for name in ("ada", "bob", "eve"))
    keys = {user: logged(user, number=number) for user, number in ((ada, 5), (bob, 2), (eve, 3))}
    assert delete_beyond_most(most=2).changed == 4
    assert set(LoggedRequest.objects.values_list("pk", flat=True)) == {
        *(keys[ada][-2:] + keys[bob] + keys[eve][-2:])
    }
    assert delete_beyond_most(most=2).changed == 0
    assert delete_beyond_most(most=1).changed == 3


def test_every_part_succeeds_again_and_again_and_its_rows_can_be_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    finished_order(days=100)
    for _ in range(2):
        retained = retain()
        assert retained.keys() == {
            *("finished orders", "requests", "requests of busy accounts"),
            *records.RULES,
        }
    lines = "\n".join(logs.formatter().format(record) for record in caplog.records)
    assert "finished_orders=1" in lines
    assert "sent_messages=0" in lines
