"""A bulk action acts on each of its orders once, in waves, at its rate, and stops when it should (O2)."""

import contextlib
import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from uuid_utils.compat import uuid7

from orders import jobs
from orders.models import AuditEntry, BulkAction, BulkItem, Event
from orders.services.operators import bulk as bulk_services
from orders.services.operators import bulk_control
from orders.services.operators.bulk_runner import allowance, run_once
from orders.services.order_changes import resubmit_order
from tests.architecture.source import ROOT
from tests.support.desk import (
    OLGA,
    OTTO,
    carry_on,
    due,
    fail,
    failed_orders,
    items_in,
    now_of,
    succeed,
    times_resubmitted,
)
from tests.support.factories import ago, make_order
from tests.support.roles import end_other_connections, in_thread, stored
from tests.support.system import database_url
from tests.support.two_sessions import all_at_once
from tests.support.wait import until

pytestmark = pytest.mark.django_db


def a_bulk(order_ids: list[UUID], **fields: Any) -> BulkAction:
    """A bulk action on these orders that is due."""
    defaults: dict[str, Any] = {"kind": "resubmit", "selection": "all that failed", "actor": OLGA}
    if len(order_ids) > bulk_services.COUNT_FROM or fields.get("kind") == "compensate":
        defaults["typed_count"] = len(order_ids)
    return due(bulk_services.create(**(defaults | {"order_ids": order_ids, "rate": 1000.0} | fields)))


def in_error(order_ids: list[UUID]) -> list[UUID]:
    return [order_id for order_id in order_ids if stored(order_id).process_state == "error"]


@pytest.mark.pattern("O2")
def test_a_wave_waits_for_the_results_of_the_one_before() -> None:
    ids = failed_orders(8)
    action = a_bulk(ids, waves=(1, 2, 0))
    carry_on(action)
    carry_on(action)
    assert in_error(ids) == ids[1:]
    succeed(ids[0])
    carry_on(action)
    carry_on(action)
    assert (in_error(ids), now_of(action).wave) == (ids[3:], 1)
    succeed(ids[1])
    carry_on(action)
    assert in_error(ids) == ids[3:]
    succeed(ids[2])
    carry_on(action)
    assert (in_error(ids), now_of(action).wave) == ([], 2)
    assert now_of(action).state == "running"
    succeed(*ids)
    carry_on(action)
    finished = now_of(action)
    assert (finished.state, finished.ended_at is not None) == ("finished", True)
    assert items_in(action, "done") == ids
    assert [times_resubmitted(order_id) for order_id in ids] == [1] * 8


@pytest.mark.pattern("O2")
def test_an_action_pauses_itself_when_too_many_of_a_wave_fail_again_and_may_go_on() -> None:
    ids = failed_orders(6)
    action = a_bulk(ids, waves=(1, 2, 0), stop_share=0.5)
    carry_on(action)
    fail(ids[0], message="it still says no")
    carry_on(action)
    paused = now_of(action)
    assert (paused.state, paused.wave) == ("paused", 0)
    assert paused.pause_reason == ("The only order of wave 1 failed again: http_503: it still says no")
    entry = AuditEntry.objects.get(act="pause action")
    assert (entry.actor, entry.before, entry.after) == ("the desk", {"state": "running"}, {"state": "paused"})
    carry_on(action)
    assert [times_resubmitted(order_id) for order_id in ids] == [1, 0, 0, 0, 0, 0]
    bulk_control.resume(action_id=action.pk, actor=OLGA)
    run_once()
    succeed(ids[1])
    fail(ids[2])
    BulkAction.objects.filter(pk=action.pk).update(acted_at=ago(30))
    run_once()
    assert (now_of(action).state, now_of(action).wave) == ("running", 2)
    assert (items_in(action, "failed"), items_in(action, "done")) == ([ids[0], ids[2]], [ids[1]])
    assert [times_resubmitted(order_id) for order_id in ids] == [1] * 6


@pytest.mark.pattern("O2")
def test_the_stop_rule_does_not_wait_for_the_end_of_a_wave() -> None:
    ids = failed_orders(10)
    action = a_bulk(ids, waves=(0,), stop_share=0.2, rate=3.0)
    carry_on(action)
    assert len(items_in(action, "acted")) == 3
    fail(*ids[:3])
    carry_on(action)
    assert now_of(action).state == "paused"
    assert in_error(ids) == ids


@pytest.mark.pattern("O2")
def test_an_order_that_failed_again_and_was_fixed_meanwhile_counts_as_failed_again() -> None:
    (order_id,) = failed_orders(1)
    action = a_bulk([order_id])
    carry_on(action)
    fail(order_id)
    resubmit_order(order_id=order_id, by=OTTO.name)
    carry_on(action)
    assert items_in(action, "failed") == [order_id]
    assert now_of(action).state == "finished"


@pytest.mark.pattern("O2", "V4")
def test_an_order_that_the_workflow_gives_up_counts_as_failed_again() -> None:
    given_up, cancelled = ids = failed_orders(2)
    action = a_bulk(ids, waves=(0,))
    carry_on(action)
    for order_id, actor in ((given_up, "supervisor"), (cancelled, "customer")):
        Event.objects.create(
            order_id=order_id, kind="compensation_requested", actor_kind=actor, actor_name="a"
        )
    succeed(*ids, state="compensated")
    carry_on(action)
    assert (items_in(action, "failed"), items_in(action, "done")) == ([given_up], [cancelled])


@pytest.mark.pattern("O2", "F33")
def test_an_order_that_is_no_longer_in_error_is_left_alone_and_its_result_says_so() -> None:
    missing, fixed, last = uuid7(), *failed_orders(2)
    resubmit_order(order_id=fixed, by=OTTO.name)
    action = a_bulk([missing, fixed, last], waves=(2, 0))
    carry_on(action)
    carry_on(action)
    rows = action.items.order_by("position").values_list("state", "result")
    assert list(rows) == [
        ("nothing", f"Order {missing} is not in the state store."),
        ("nothing", "The order is pending, so nothing was resubmitted."),
        ("acted", "Resubmitted mix."),
    ]
    assert times_resubmitted(fixed) == 1


@pytest.mark.pattern("C10")
def test_a_compensation_of_many_orders_ends_with_each_order_compensated() -> None:
    done, failed = make_order({"mix": "completed"}, process_state="processed").order_id, failed_orders(1)[0]
    action = a_bulk([done, failed], kind="compensate", waves=(0,))
    carry_on(action)
    assert [stored(order_id).goal for order_id in (done, failed)] == ["compensate", "compensate"]
    carry_on(action)
    assert items_in(action, "acted") == [done, failed]
    succeed(done, state="compensated")
    fail(failed)
    carry_on(action)
    assert (items_in(action, "done"), items_in(action, "failed")) == ([done], [failed])


@pytest.mark.pattern("O2")
@pytest.mark.parametrize("act", [bulk_control.pause, bulk_control.stop], ids=["pause", "stop"])
def test_a_pause_or_stop_holds_from_the_next_order_on(act: Any) -> None:
    ids = failed_orders(5)
    action = a_bulk(ids, waves=(0,))
    updates = 0

    def stop_after_the_second(execute: Any, sql: str, *rest: Any) -> Any:
        nonlocal updates
        written = execute(sql, *rest)
        if sql.startswith('UPDATE "orders_bulkaction" SET "acted_at"'):
            updates += 1
            if updates == 2:
                act(action_id=action.pk, actor=OTTO)
        return written

    with connection.execute_wrapper(stop_after_the_second):
        run_once()
    assert in_error(ids) == ids[2:]
    succeed(*ids[:2])
    carry_on(action)
    assert items_in(action, "done") == ids[:2]
    assert in_error(ids) == ids[2:]
    assert (now_of(action).ended_at is not None) == (act is bulk_control.stop)


@pytest.mark.parametrize(
    ("rate", "seconds", "allowed"),
    [
        (20.0, 0.51, 10),
        (20.0, 0.04, 0),
        (20.0, 3_600.0, 20),
        (20.0, -5.0, 0),
        (0.1, 9.0, 0),
        (0.1, 11.0, 1),
        (0.1, 3_600.0, 1),
        (1.0, 1.01, 1),
    ],
)
@pytest.mark.pattern("O2")
def test_an_action_never_exceeds_its_rate(rate: float, seconds: float, allowed: int) -> None:
    ids = failed_orders(25)
    action = a_bulk(ids, waves=(0,), rate=rate)
    acted_at = ago(0)
    BulkAction.objects.filter(pk=action.pk).update(acted_at=acted_at)
    now = acted_at + timedelta(seconds=seconds)
    assert allowance(rate=rate, acted_at=acted_at, now=now) == allowed
    assert run_once(now=now).done["acted"] == allowed
    assert len(ids) - len(in_error(ids)) == allowed
    assert run_once(now=acted_at).done["acted"] == 0


@pytest.mark.pattern("O2", "F33")
@pytest.mark.django_db(transaction=True)
def test_simultaneous_runners_and_operators_act_on_each_order_once() -> None:
    ids = failed_orders(30)
    actions = [a_bulk(ids, waves=(0,))]
    BulkAction.objects.update(state="finished")  # otherwise its orders would be refused to the other
    actions.append(a_bulk(list(reversed(ids)), waves=(0,)))
    BulkAction.objects.update(state="running")
    all_at_once(4, lambda _: [run_once() for _ in range(3)])
    for action in actions:
        carry_on(action)
    assert [times_resubmitted(order_id) for order_id in ids] == [1] * 30
    items = BulkItem.objects.all()
    assert (items.filter(state="acted").count(), items.filter(state="nothing").count()) == (30, 30)


class Killed(BaseException):
    """Ends the code as if its process were killed."""


def killing_at(last: int) -> Callable[..., Any]:
    """Lets every statement pass until the one with this number, which raises `Killed`."""
    begun = itertools.count(1)

    def count(execute: Any, *statement: Any) -> Any:
        if next(begun) == last:
            raise Killed
        return execute(*statement)

    return count


@pytest.mark.pattern("O2", "F8")
def test_a_runner_that_ends_at_any_statement_repeats_nothing_and_loses_nothing() -> None:
    ids = failed_orders(3)
    action = a_bulk(ids, waves=(1, 0))
    last = 0
    while now_of(action).state != "finished":
        last += 1
        assert last < 500, "the runner never finishes"
        due(action)
        with connection.execute_wrapper(killing_at(last)), contextlib.suppress(Killed):
            run_once()
        succeed(*(order_id for order_id in ids if stored(order_id).process_state == "pending"))
        assert all(times_resubmitted(order_id) <= 1 for order_id in ids)
    assert last > 10
    assert items_in(action, "done") == ids
    assert [times_resubmitted(order_id) for order_id in ids] == [1, 1, 1]


@pytest.mark.pattern("O2", "F8")
@pytest.mark.django_db(transaction=True)
def test_a_process_killed_before_each_of_its_statements_acts_on_each_order_once() -> None:
    ids = failed_orders(4)
    action = a_bulk(ids, waves=(0,))
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.dying_runner"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database_url()},
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) > 10
    assert items_in(action, "acted") == ids
    assert [times_resubmitted(order_id) for order_id in ids] == [1] * 4


@pytest.mark.pattern("O2")
@pytest.mark.django_db(transaction=True)
def test_a_shift_of_the_desk_survives_its_connection_being_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(jobs, "is_stopping", over.is_set)
    first, second = failed_orders(2)
    action = a_bulk([first])
    shift = in_thread(lambda: jobs.desk_shift(600))
    until(lambda: items_in(action, "acted"), what="the first act")
    assert end_other_connections() == 1
    action = a_bulk([second])
    until(lambda: items_in(action, "acted"), what="an act on a new connection")
    over.set()
    shift.result(timeout=60)
    assert [times_resubmitted(order_id) for order_id in (first, second)] == [1, 1]
