"""A list reads only the steps that an order can stand at, and says of each order what all of its steps say."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from orders.models import OrderProcess, StepState
from orders.selectors.desk.order_rows import order_progress, process_facts, steps_of
from orders.selectors.desk.standing import RetryLimits, StandingKind, order_standing
from orders.vocabulary import Goal, Outcome, ProcessState, StepStatus, WaitKind
from tests.support.legal_steps import legal

pytestmark = pytest.mark.django_db

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
UNFINISHED = (ProcessState.PENDING, ProcessState.PROCESSING, ProcessState.ERROR)


def steps_in_every_state() -> list[dict[str, Any]]:
    """What a step may have in the columns that decide where it stands."""
    times = ("complete_by", "not_before", "waiting_since", "paused_since")
    return legal(
        [
            {
                **dict(zip(times, at, strict=True)),
                "state": str(state),
                "outcome": str(outcome),
                "attempt": attempt,
                "awaits": kind and {"kind": str(kind)},
            }
            for state, outcome, attempt, kind, *at in itertools.product(
                StepStatus, Outcome, (0, 2), (None, *WaitKind), *[(None, LATER)] * len(times)
            )
        ]
    )


def test_a_list_says_of_an_order_what_all_of_its_steps_say() -> None:
    own = steps_in_every_state()
    assert len(own) > 100
    processes, steps = [], []
    for step, state, goal in itertools.product(own, UNFINISHED, Goal):
        locked = {"locked_by": "scheduler:test", "complete_by": LATER} if state == "processing" else {}
        process = OrderProcess(
            order_id=uuid7(), workflow="bake-cake", version=1, process_state=state, goal=goal, **locked
        )
        processes.append(process)
        steps.append(StepState(process=process, name="mix", position=0, agent="kitchen", **step))
    OrderProcess.objects.bulk_create(processes)
    StepState.objects.bulk_create(steps, batch_size=2_000)
    limits = RetryLimits()
    of_all = steps_of([process.order_id for process in processes], NOON)
    truth = {
        process.order_id: order_standing(
            process_facts(process), of_all[process.order_id], retry_limits=limits, now=NOON
        )
        for process in processes
    }
    rows = order_progress(processes, retry_limits=limits, now=NOON)
    assert {order.order_id: order.standing for order in rows} == {
        order_id: standing for order_id, (standing, _) in truth.items()
    }
    assert {order.order_id: [step.name for step in order.steps] for order in rows} == {
        order_id: [step.name for step, _ in current] for order_id, (_, current) in truth.items()
    }
    stood = {order.standing.kind for order in rows}
    assert stood >= {StandingKind.AGENT, StandingKind.PAUSED, StandingKind.RETRYING, StandingKind.DECISION}
