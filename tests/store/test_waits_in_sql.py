"""SQL and Python say alike whom or what an order waits for, whatever its rows are."""

import itertools
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from orders.engine.runtime.sql import fetch, run
from orders.models import OrderProcess, StepState
from orders.selectors.order_waits import Waiting, waiting_of_order, waiting_of_step
from orders.selectors.waits_in_sql import WAIT
from orders.vocabulary import StepStatus, WaitingFor, WaitKind
from tests.support.legal_steps import legal

pytestmark = pytest.mark.django_db

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TIMES = ("complete_by", "not_before", "awaits_until", "waiting_since", "compensation_sent_at")
ERRORS = (
    None,
    {"code": "no"},
    {"code": "no", "waits_for": "customer"},
    {"waits_for": "operator"},
    ["customer"],
)
OUTCOMES = {"completed": "done", "running": "unknown"}
PROCESSES = [
    ("pending", "complete"),
    ("pending", "compensate"),
    ("processing", "complete"),
    ("processing", "compensate"),
    ("error", "complete"),
    ("error", "compensate"),
    ("processed", "complete"),
    ("compensated", "compensate"),
]
MIXED = 2_000


def legal_steps() -> list[dict[str, Any]]:
    """What a step may have in the columns that matter, in every combination that the database takes."""
    steps = [
        {
            **dict(zip(TIMES, times, strict=True)),
            "state": str(state),
            "awaits": kind and {"kind": str(kind)},
            "error": error,
            "outcome": OUTCOMES.get(state, "none"),
            "attempt": 1,
        }
        for state, kind, error, *times in itertools.product(
            StepStatus, (None, *WaitKind), ERRORS, *[(None, NOON)] * len(TIMES)
        )
    ]
    return legal(steps)


def insert(orders: list[tuple[tuple[str, str], list[dict[str, Any]]]], chance: random.Random) -> None:
    """Inserts processes in a state and with a goal, each with these steps. One in four that may be is paused."""
    processes, steps = [], []
    for (state, goal), own in orders:
        locked = {"locked_by": "scheduler:test", "complete_by": NOON} if state == "processing" else {}
        is_paused = goal == "complete" and state != "processed" and chance.random() < 0.25
        pause = {"paused_at": NOON, "paused_until": chance.choice((None, NOON))} if is_paused else {}
        process = OrderProcess(
            **{
                "order_id": uuid7(),
                "workflow": "bake-cake",
                "version": 1,
                "process_state": state,
                "goal": goal,
            },
            **(locked | pause),
        )
        processes.append(process)
        steps += [
            StepState(process=process, name=f"step-{position}", position=position, agent="kitchen", **columns)
            for position, columns in enumerate(own)
        ]
    OrderProcess.objects.bulk_create(processes)
    StepState.objects.bulk_create(steps, batch_size=2_000)


def later(step: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The same step at other times, so that the first of several counts."""
    return step | {
        name: step[name] + timedelta(minutes=chance.randrange(3)) for name in TIMES if step[name] is not None
    }


def test_sql_and_python_agree_on_every_row_that_the_database_takes() -> None:
    steps = legal_steps()
    assert len(steps) > 1_000
    chance = random.Random(20_301)
    alone = [(process, [step]) for process in PROCESSES[:2] for step in steps]
    mixed = [
        (
            chance.choice(PROCESSES),
            [later(step, chance) for step in chance.choices(steps, k=chance.randrange(5))],
        )
        for _ in range(MIXED)
    ]
    insert(alone + mixed, chance)
    run("ANALYZE orders_orderprocess, orders_stepstate")
    in_sql = {
        order_id: kind and Waiting(WaitingFor(kind), until)
        for order_id, kind, until in fetch(f"""
            SELECT process.order_id, wait.*
              FROM orders_orderprocess AS process LEFT JOIN LATERAL ({WAIT}) AS wait ON true
        """)
    }
    in_python = {
        process.order_id: waiting_of_order(
            process.process_state,
            [
                Waiting(WaitingFor.OPERATOR, process.paused_until) if process.paused_at else None,
                *(waiting_of_step(vars(step), process.goal) for step in process.steps.all()),
            ],
        )
        for process in OrderProcess.objects.prefetch_related("steps")
    }
    assert in_sql == in_python
    assert {wait and wait.kind for wait in in_python.values()} == {None, *WaitingFor}
    assert len({wait and wait.until for wait in in_python.values()}) > 3
