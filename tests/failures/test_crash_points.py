"""Every named point of every role, in every mode: killed, broken, put to sleep, or done but reported as failed.

`bin/test` goes through every point once, in modes that a seed chooses, and through some pairs. To run everything:

    CRASH_SWEEP=all bin/test tests/failures/test_crash_points.py       (SAS_SEED=… repeats a run)
"""

import json
import os
import random
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pytest

from orders.models import OrderProcess, SubmissionMessage
from tests.support import crash
from tests.support.crash import Shot
from tests.support.system import ENDED, Process, System
from tests.support.wait import until

ALL = os.environ.get("CRASH_SWEEP") == "all"
SEED = int(os.environ.get("SAS_SEED") or (secrets.randbelow(1_000_000) if ALL else 1))
WORKERS = ("submission", "scheduler", "agents", "supervisor")
ORDERS = 20
BOUND = 240.0
UNDER_WAY = 12
"""How many orders to keep under way until every point has been passed."""

# The orders must survive any number of deaths: the test is that nothing is lost or doubled, not when to give up.
PATIENT = {
    "STEP_COMPLETE_BY": "3",
    "FAILURE_THRESHOLD": "60",
    "ORDER_COMPLETE_BY": "600",
    "PROBE_PERIOD": "0.5",
    "RAMP": "1",
}


@pytest.fixture
def seeded() -> random.Random:
    """A repeatable random generator; a failing test shows its seed."""
    print(f"SAS_SEED={SEED}")
    return random.Random(SEED)


class Armed:
    """A role of a system in a process with crash points, and which shots it has fired."""

    def __init__(self, system: System, role: str, shots: Sequence[Shot], **environment: str) -> None:
        self.shots = [str(shot) for shot in shots]
        self._report = system.folder / f"fired-{role}"
        self._report.unlink(missing_ok=True)
        log = system.folder / f"{len(system.running)}-armed-{role}.log"
        argv = ["-m", "tests.support.armed", role]
        fail = {"SAS_FAIL": ",".join(self.shots), "SAS_FIRED": str(self._report)}
        self.process = Process(
            f"armed {role}", argv, {**system.environment, **PATIENT, **fail, **environment}, log, forked=True
        )
        system.running.append(self.process)

    def fired(self) -> list[str]:
        """The shots fired so far."""
        return self._report.read_text().splitlines() if self._report.exists() else []

    def remaining(self) -> list[str]:
        """The shots that have not been fired yet."""
        fired = self.fired()
        return [shot for shot in self.shots if shot not in fired]


def go_through(system: System, shots: dict[str, list[Shot]]) -> None:
    """Fires all shots in a system that works on twenty orders or more, and checks how the orders end."""
    system.environment |= PATIENT
    system.faults("carrier", hang_rate=0.3)  # so that the supervisor has something to do
    system.place(ORDERS)
    armed = [Armed(system, role, shots.get(role, [])) for role in WORKERS]
    for role in ("scheduler", "agents"):
        system.start(role)  # an instance that takes over from one that sleeps
    feed(system, armed)
    system.no_faults()
    assert set(system.wait_until_ended(seconds=BOUND)) == {"processed"}
    system.check()


def feed(system: System, armed: Sequence[Armed]) -> None:
    """Keeps orders coming until every shot has been fired."""
    looked_at = 0.0

    def all_fired() -> bool:
        nonlocal looked_at
        if not any(role.remaining() for role in armed):
            return True
        if time.monotonic() - looked_at > 0.25:
            looked_at = time.monotonic()
            under_way = SubmissionMessage.objects.count()
            under_way += OrderProcess.objects.exclude(process_state__in=ENDED).count()
            if under_way < UNDER_WAY:
                system.place(2)
        return False

    try:
        until(all_fired, seconds=BOUND, what="every crash point")
    except AssertionError:
        raise AssertionError(f"not fired: {[role.remaining() for role in armed]}") from None


def shop(system: System, shots: list[Shot], keys: list[str]) -> list[UUID]:
    """Has a shop that dies place an order for each key; returns the acknowledged orders."""
    acknowledged = system.folder / f"acknowledged-{keys[0]}"
    orders = {
        "sku": system.sku,
        "keys": keys,
        "acknowledged": str(acknowledged),
    }
    armed = Armed(system, "shop", shots, SAS_ORDERS=json.dumps(orders))
    until(acknowledged.exists, seconds=BOUND, what="the orders of the shop")
    assert armed.remaining() == []
    return [UUID(order_id) for order_id in json.loads(Path(acknowledged).read_text()).values()]


@pytest.mark.pattern("S2", "T1", "C9", "A3", "A7", "V6", "F5", "F6", "F7", "F10", "F11", "F12", "F17", "F22")
@pytest.mark.skipif(ALL, reason="the whole sweep fires each shot by itself")
def test_failing_at_every_point_of_every_role_at_once_loses_no_order(
    system: System, seeded: random.Random
) -> None:
    """All roles die and fail repeatedly beside one another, once at each of their points."""
    go_through(system, {role: crash.one_shot_a_point(role, seeded) for role in WORKERS})


@pytest.mark.pattern("S3", "F1", "F2", "F3", "F22")
@pytest.mark.parametrize("mode", crash.MODES)
def test_an_order_is_placed_once_for_its_key_wherever_the_shop_dies(system: System, mode: str) -> None:
    """P1: the customer repeats the request with the same key until an answer comes; each key has one order."""
    slow = mode == "stall" and not ALL
    points = ("before-post", "after-post") if slow else crash.POINTS["shop"]
    shots = [Shot(role="shop", point=point, mode=mode) for point in points]
    keys = [f"key-{n}" for n in range(ORDERS)]
    placed = shop(system, shots, keys)
    assert len(set(placed)) == ORDERS
    assert set(SubmissionMessage.objects.values_list("order_id", flat=True)) == set(placed)
    assert SubmissionMessage.objects.count() == ORDERS


@pytest.mark.pattern("T6", "C9")
def test_failing_at_pairs_of_points_loses_no_order(system: System, seeded: random.Random) -> None:
    """Two points that may fail at the same time, in one role or in two; the next pair follows when both have failed."""
    every = [shot for role in WORKERS for shot in crash.every_shot(role)]
    system.environment |= PATIENT
    for _ in range(40 if ALL else 1):
        first, second = seeded.sample(every, 2)
        print(f"{first} with {second}")
        shots: dict[str, list[Shot]] = {}
        for shot in (first, second):
            shots.setdefault(shot.role, []).append(shot)
        go_through(system, shots)
        for process in system.running[1:]:
            process.end()


@pytest.mark.pattern("T6", "C9")
@pytest.mark.skipif(not ALL, reason="by hand: CRASH_SWEEP=all")
@pytest.mark.parametrize(
    "shot", [shot for role in WORKERS for shot in crash.every_shot(role)] if ALL else [], ids=str
)
def test_failing_at_each_point_in_each_mode_loses_no_order(system: System, shot: Shot) -> None:
    go_through(system, {shot.role: [shot]})
