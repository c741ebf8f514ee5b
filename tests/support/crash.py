"""Named points at which a role can be made to die, fail, sleep, or do its work and get an error all the same.

The product knows nothing about them: `arm` wraps its functions, in a process that `tests.support.armed` started.
`SAS_FAIL` lists what happens there, one shot after the other:

    SAS_FAIL=scheduler.after-lock:kill,scheduler.before-commit:dothenfail:2

Each shot is `point:mode[:n]`. It is fired at the nth passing of the point; only passings with work to do count.
"""

import inspect
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from orders.engine.errors import Transient
from orders.engine.runtime.statements import Sent, known

STALL = 6.0
"""Seconds; longer than `LEASE` and than the 5 s after which the server ends a transaction."""
LEASE = 4.0
"""Seconds that the leases of armed hosts and leaders last; shorter than the product's, to save time."""
COMMIT = "commit"
PIPELINED_COMMIT = "orders.engine.runtime.statements:_commit"
MODES = ("kill", "raise", "stall", "dothenfail")


class Crash(Exception):
    """Raised by a point in the mode `raise`: an unforeseen error."""


class Place(NamedTuple):
    """A function of the product, as `module:attribute`, or the commit of a pass."""

    target: str
    side: str


def _around(**targets: str) -> dict[str, Place]:
    names = {name.replace("_", "-"): target for name, target in targets.items()}
    return {
        f"{side}-{name}": Place(target, side)
        for name, target in names.items()
        for side in ("before", "after")
    }


STORE, CHANNELS = "orders.engine.state_store", "orders.engine.channels"
POINTS: dict[str, dict[str, Place]] = {
    "shop": _around(
        post=f"{CHANNELS}.submissions:post_once",
        place="orders.shop.placing:place_order",
    ),
    "submission": _around(
        take=f"{CHANNELS}.submissions:send_take",
        insert=f"{STORE}:create_processes",
        delete=f"{CHANNELS}.submissions:delete",
        notify="orders.engine.submission:wake",
        commit=COMMIT,
    ),
    "scheduler": _around(
        lock=f"{STORE}:send_lock",
        claim=f"{STORE}:send_claim",
        write_steps=f"{STORE}:send_step_writes",
        delete=f"{CHANNELS}.replies:delete",
        write_processes=f"{STORE}:write_processes",
        post=f"{CHANNELS}.requests:post",
        events=f"{STORE}:record_events",
        credit="orders.engine.scheduler.role:credit_of",
        settle="orders.engine.scheduler.role:charge_credit",
        notify="orders.engine.scheduler.role:wake",
        commit=COMMIT,
    ),
    "agents": _around(
        claim=f"{CHANNELS}.leases:send_claim",
        call="orders.engine.agent_host.call:Call._try",
        answer="orders.engine.agent_host.call:Call.run",
        complete=f"{CHANNELS}.leases:complete",
        renew=f"{CHANNELS}.leases:renew",
        report="orders.engine.agent_host.records:report_calls",
        commit=COMMIT,
    ),
    "supervisor": _around(
        acquire="orders.engine.supervisor.leadership:acquire",
        check="orders.engine.supervisor.leadership:check",
        find=f"{STORE}:overdue",
        lock=f"{STORE}:lock",
        write_steps=f"{STORE}:write_steps",
        write_processes=f"{STORE}:write_processes",
        events=f"{STORE}:record_events",
        commit=COMMIT,
        renew="orders.engine.supervisor.leadership:renew",
    ),
}
PASSES = {
    "submission": ["orders.engine.submission:Submitter._pass"],
    "scheduler": ["orders.engine.scheduler.role:Scheduler._pass"],
    "agents": [
        "orders.engine.agent_host.records:HostRecords.post",
        "orders.engine.agent_host.records:HostRecords.claim",
        "orders.engine.agent_host.records:HostRecords.renew",
        "orders.engine.agent_host.records:HostRecords.report",
    ],
    "supervisor": ["orders.engine.supervisor.role:Supervisor._sweep"],
}
"""The roles whose commits are points. The shop has no commit of its own: it places an order in one statement."""
ROLES = tuple(POINTS)


@dataclass(frozen=True, kw_only=True)
class Shot:
    """What happens, where, and at which passing."""

    role: str
    point: str
    mode: str
    at: int = 1

    def __str__(self) -> str:
        return f"{self.role}.{self.point}:{self.mode}:{self.at}"

    @property
    def place(self) -> Place:
        """Its place in the product."""
        return POINTS[self.role][self.point]


def parse(text: str) -> list[Shot]:
    """Reads `SAS_FAIL`. Raises `ValueError` for an unknown point or mode."""
    return [_parse_one(part) for part in filter(None, text.split(","))]


def _parse_one(text: str) -> Shot:
    name, mode, *rest = text.split(":")
    role, _, point = name.partition(".")
    if point not in POINTS.get(role, ()) or mode not in MODES:
        raise ValueError(f"SAS_FAIL={text!r}: no such point or mode")
    return Shot(role=role, point=point, mode=mode, at=int(rest[0]) if rest else 1)


def every_shot(role: str) -> list[Shot]:
    """Each point of a role in each mode."""
    return [Shot(role=role, point=point, mode=mode) for point in POINTS[role] for mode in MODES]


def one_shot_a_point(role: str, rng: random.Random) -> list[Shot]:
    """Each point of a role once; the seed chooses the modes and the order of the points."""
    shots = [Shot(role=role, point=point, mode=rng.choice(MODES)) for point in POINTS[role]]
    rng.shuffle(shots)
    return shots


class Armed:
    """The shots that this process has yet to fire, in their order. Only the first can be fired."""

    def __init__(self, shots: Sequence[Shot], *, report: Path) -> None:
        self._left = list(shots)
        self._report = report
        self._passed = 0
        self._lock = threading.Lock()
        self._here = threading.local()

    def fires(self, place: Place) -> Shot | None:
        """Counts a passing of this place; returns the shot that it fires, if any, after noting it in the report."""
        self._here.worked = True
        with self._lock:
            if not self._left or self._left[0].place != place:
                return None
            self._passed += 1
            if self._passed < self._left[0].at:
                return None
            self._passed = 0
            shot = self._left.pop(0)
            with self._report.open("a") as report:
                report.write(f"{shot}\n")
            return shot

    @contextmanager
    def one_pass(self) -> Iterator[None]:
        """Makes the commit inside this block a point, if there was work to do before it."""
        self._here.inside, self._here.worked, self._here.is_sent = True, False, False
        try:
            yield
        finally:
            self._here.inside = False

    def worked_in_this_pass(self) -> bool:
        """Whether this thread is in a pass in which it did something."""
        return getattr(self._here, "inside", False) and self._here.worked

    def sends_commit(self) -> None:
        """Notes that the commit is on its way in a pipeline, before that of Django, which does nothing then."""
        self._here.is_sent = True

    def has_sent_commit(self) -> bool:
        """Whether the commit was sent in a pipeline. Asked once for each."""
        is_sent, self._here.is_sent = getattr(self._here, "is_sent", False), False
        return is_sent


def arm(role: str, shots: Sequence[Shot], *, report: Path) -> None:
    """Wraps the functions of a role in this process. Each shot that is fired adds a line to `report`."""
    armed = Armed(shots, report=report)
    for target in dict.fromkeys(place.target for place in POINTS[role].values()):
        if target != COMMIT:
            _replace(target, lambda original, target=target: _wrapped(original, target, armed))
    commit = BaseDatabaseWrapper._commit
    BaseDatabaseWrapper._commit = _wrapped_commit(commit, armed)  # type: ignore[method-assign]
    _replace(PIPELINED_COMMIT, lambda original: _wrapped_pipelined_commit(original, armed))
    for target in PASSES.get(role, ()):
        _replace(target, lambda original: _as_pass(original, armed))


def resolve(target: str) -> tuple[Any, str, Callable[..., Any]]:
    """The holder, the name and the value of `module:attribute` or `module:Class.attribute`."""
    module, _, path = target.partition(":")
    holder: Any = import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    return holder, name, getattr(holder, name)


def _replace(target: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    holder, name, original = resolve(target)
    setattr(holder, name, wrap(original))


def _wrapped(original: Callable[..., Any], target: str, armed: Armed) -> Callable[..., Any]:
    before, after = Place(target, "before"), Place(target, "after")
    if inspect.iscoroutinefunction(original):

        @wraps(original)
        async def call(*args: Any, **options: Any) -> Any:
            if shot := armed.fires(before):
                if shot.mode == "dothenfail":
                    await original(*args, **options)
                    raise Transient("crash_point", "done, and reported as failed")
                strike(shot)
            result = await original(*args, **options)
            if shot := armed.fires(after):
                if shot.mode == "dothenfail":
                    raise Transient("crash_point", "done, and reported as failed")
                strike(shot)
            return result

        return call

    @wraps(original)
    def act(*args: Any, **options: Any) -> Any:
        if _has_no_work(args, options):
            return original(*args, **options)
        if shot := armed.fires(before):
            if shot.mode == "dothenfail":
                _known(original(*args, **options))
            strike(shot)
        result = _known(original(*args, **options))
        value = result.result() if isinstance(result, Sent) else result
        if not _found_nothing(value) and (shot := armed.fires(after)):
            strike(shot)
        return result

    return act


def _known(result: Any) -> Any:
    """Waits for what has been sent, so that a point comes after the whole of its function."""
    return known(result.result()) if isinstance(result, Sent) else result


def _has_no_work(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    if not args:
        return not options
    return isinstance(args[0], Sized) and not len(args[0])


def _found_nothing(result: object) -> bool:
    return isinstance(result, Sized | int) and not isinstance(result, bool) and not result


def _wrapped_commit(original: Callable[..., Any], armed: Armed) -> Callable[..., Any]:
    before, after = Place(COMMIT, "before"), Place(COMMIT, "after")

    @wraps(original)
    def commit(connection: Any) -> Any:
        if not armed.worked_in_this_pass():
            return original(connection)
        if not armed.has_sent_commit() and (shot := armed.fires(before)):
            if shot.mode == "dothenfail":
                original(connection)
            strike(shot)
        result = original(connection)
        if shot := armed.fires(after):
            strike(shot)
        return result

    return commit


def _wrapped_pipelined_commit(original: Callable[..., Any], armed: Armed) -> Callable[..., Any]:
    """Only the point before the commit: what follows it is the commit of Django."""
    before = Place(COMMIT, "before")

    @wraps(original)
    def commit(session: Any) -> None:
        if armed.worked_in_this_pass():
            if shot := armed.fires(before):
                if shot.mode == "dothenfail":
                    original(session)  # done at the end of the pipeline, which comes all the same
                strike(shot)
            armed.sends_commit()
        original(session)

    return commit


def _as_pass(original: Callable[..., Any], armed: Armed) -> Callable[..., Any]:
    @wraps(original)
    def run(*args: Any, **options: Any) -> Any:
        with armed.one_pass():
            return original(*args, **options)

    return run


def strike(shot: Shot) -> None:
    """Does what a shot is for. If the work has been done already, it raises the error of a lost connection."""
    if shot.mode == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif shot.mode == "raise":
        raise Crash(str(shot))
    elif shot.mode == "stall":
        time.sleep(STALL)
    else:
        raise OperationalError(f"done, and reported as failed: {shot}")
