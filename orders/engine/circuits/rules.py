"""The circuit breaker of one agent (A8), as pure rules. `orders.engine.circuits.store` keeps it for all processes.

    closed ──failures of several orders, half of the calls──▶ open ──a probe is sent──▶ half_open
       ▲                                                       ▲                           │  │
       └──────────────────── the probe succeeds ───────────────┼───────────────────────────┘  │
                                                               └──────── the probe fails ─────┘

One order's failures say nothing about the service while other orders succeed. So it takes those of `LEAST_ORDERS`
orders to open a circuit, unless nothing has succeeded lately. While it is open nothing is sent but a probe now and
then; steps wait, and no failure is counted. A probe that is lost is sent again. After the circuit has closed, a ramp
lets through what has waited, not all of it at once: the rush would bring the remote service down again. Times are in
seconds.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from orders.vocabulary import CircuitState

HEARTBEAT_LIMIT = 15.0
"""Seconds without a heartbeat after which an agent instance no longer counts as alive. A host sends one every 5 s, so
it may miss two of them."""

LEAST_ORDERS = 3
"""Orders that must have failed in a window in which others succeed."""

LEAST_RAMP = 0.05
"""The share of an agent's rate that is let through at the start of a ramp. It must be above 0, or nothing would ever
start."""


@dataclass(frozen=True, kw_only=True)
class BreakerRules:
    """When a circuit opens, how soon it is probed, and how slowly what has waited is let through afterwards."""

    window: float = 20.0
    """How long calls are counted before the counting starts again. Long enough for several calls to time out (5 s)."""
    least_failures: int = 5
    """Failures in a window below which a circuit never opens: a few failed calls are no outage."""
    share: float = 0.5
    """The share of a window's calls that must have failed. Below half, most orders still succeed at first try."""
    first_probe: float = 1.0
    probe_cap: float = 15.0
    """A probe comes about this often in a long outage: recovery is noticed soon, at next to no load."""
    probe_patience: float = 45.0
    """How long a probe may take before it counts as lost: a step's complete-by (30 s) and time to be claimed."""
    ramp: float = 30.0
    """How long it takes after a circuit has closed until everything is let through again."""
    ahead: float = 2.0
    """How many times an agent's capacity may be outstanding: what it works on, and as much again, so that a call that
    ends finds the next request in the queue. More would only wait there, with its complete-by running."""


class CircuitRow(NamedTuple):
    """A row of `Circuit`, without the names and reasons of its overrides."""

    agent: str
    state: str = CircuitState.CLOSED.value
    since: datetime | None = None
    openings: int = 0
    cause_code: str = ""
    cause_message: str = ""
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    probe_at: datetime | None = None
    window_at: datetime | None = None
    window_calls: int = 0
    window_failures: int = 0
    window_orders: Sequence[str] = ()
    succeeded_at: datetime | None = None
    rate: float | None = None
    tokens: float = 0.0
    tokens_at: datetime | None = None
    forced: str = ""
    forced_until: datetime | None = None
    paused: bool = False
    set_rate: float | None = None
    set_capacity: int | None = None

    @property
    def rate_limit(self) -> float | None:
        """The most calls a second: what an operator has set, or else what its hosts say; None for no limit."""
        return self.rate if self.set_rate is None else self.set_rate


class Tally(NamedTuple):
    """How calls went since the last report. `retries` of them were further tries of the same request.

    `code` and `message` are those of the last failure, and `orders` up to `LEAST_ORDERS` orders whose calls failed.
    `probe` is how the probe went, if one of the calls was it: "done" or "failed".
    """

    calls: int = 0
    failures: int = 0
    retries: int = 0
    code: str = ""
    message: str = ""
    orders: frozenset[str] = frozenset()
    probe: str = ""

    def plus(self, earlier: "Tally") -> "Tally":
        """Both counted together; the cause and the probe of this one count, if it has them."""
        return Tally(
            self.calls + earlier.calls,
            self.failures + earlier.failures,
            self.retries + earlier.retries,
            self.code or earlier.code,
            self.message or earlier.message,
            first_orders(self.orders | earlier.orders),
            self.probe or earlier.probe,
        )


def first_orders(orders: Iterable[str]) -> frozenset[str]:
    """As many of the orders as it takes to open a circuit."""
    return frozenset(sorted(orders)[:LEAST_ORDERS])


def state_of(circuit: CircuitRow, now: datetime) -> str:
    """The state that counts: the one an operator has forced, or else the circuit's own."""
    return circuit.forced if is_forced(circuit, now) else circuit.state


def is_forced(circuit: CircuitRow, now: datetime) -> bool:
    """Whether an operator forces it now."""
    return bool(circuit.forced) and circuit.forced_until is not None and circuit.forced_until > now


def lets_calls_through(circuit: CircuitRow, now: datetime) -> bool:
    """Whether calls may be made as usual."""
    return state_of(circuit, now) == CircuitState.CLOSED and not circuit.paused


def after_calls(
    circuit: CircuitRow, tally: Tally, *, rules: BreakerRules, now: datetime, jitter: Callable[[int], float]
) -> CircuitRow:
    """The circuit after some calls. `jitter` gives the wait for a probe after that many openings in a row."""
    if circuit.rate_limit is not None:
        circuit = circuit._replace(tokens=circuit.tokens - tally.retries)
    if tally.calls > tally.failures:
        circuit = circuit._replace(succeeded_at=now)
    if circuit.state != CircuitState.CLOSED:
        # Only a probe counts; other answers are late ones to earlier calls.
        if circuit.state == CircuitState.HALF_OPEN and tally.probe:
            return _closed(circuit, now) if tally.probe == "done" else _opened(circuit, tally, now, jitter)
        return circuit
    window = timedelta(seconds=rules.window)
    if circuit.window_at is None or now - circuit.window_at > window:
        circuit = circuit._replace(window_at=now, window_calls=0, window_failures=0, window_orders=())
    circuit = circuit._replace(
        window_calls=circuit.window_calls + tally.calls,
        window_failures=circuit.window_failures + tally.failures,
        window_orders=sorted(first_orders({*circuit.window_orders, *tally.orders})),
    )
    is_broken = (
        tally.failures > 0
        and circuit.window_failures >= rules.least_failures
        and circuit.window_failures >= rules.share * circuit.window_calls
        and (
            len(circuit.window_orders) >= LEAST_ORDERS
            or circuit.succeeded_at is None
            or now - circuit.succeeded_at > window
        )
    )
    return _opened(circuit, tally, now, jitter) if is_broken else circuit


def _opened(circuit: CircuitRow, tally: Tally, now: datetime, jitter: Callable[[int], float]) -> CircuitRow:
    openings = circuit.openings + 1
    return circuit._replace(
        state=CircuitState.OPEN.value,
        since=now,
        openings=openings,
        opened_at=circuit.opened_at if openings > 1 else now,
        cause_code=tally.code,
        cause_message=tally.message,
        probe_at=now + timedelta(seconds=jitter(openings)),
        window_at=None,
        window_calls=0,
        window_failures=0,
        window_orders=(),
    )


def _closed(circuit: CircuitRow, now: datetime) -> CircuitRow:
    return circuit._replace(
        state=CircuitState.CLOSED.value,
        since=now,
        openings=0,
        closed_at=now,
        probe_at=None,
        window_at=None,
        window_calls=0,
        window_failures=0,
        window_orders=(),
    )


def is_probe_due(circuit: CircuitRow, now: datetime) -> bool:
    """Whether one request may be sent to see if the remote service is back."""
    if circuit.paused or circuit.state == CircuitState.CLOSED or is_forced(circuit, now):
        return False
    return circuit.probe_at is not None and circuit.probe_at <= now


def probing(circuit: CircuitRow, *, rules: BreakerRules, now: datetime) -> CircuitRow:
    """The circuit once a probe has been sent."""
    return circuit._replace(
        state=CircuitState.HALF_OPEN.value, since=now, probe_at=now + timedelta(seconds=rules.probe_patience)
    )


def probe_wait(openings: int, *, rules: BreakerRules, rng: random.Random | None = None) -> float:
    """Seconds to wait before the next probe, after that many openings in a row: exponential, with equal jitter.

    At least half of the ceiling, unlike full jitter, so that a remote service that is down is never probed at once.
    """
    ceiling = min(rules.probe_cap, rules.first_probe * 2.0 ** min(openings - 1, 30))
    return (rng or random).uniform(ceiling / 2, ceiling)


def ramp(circuit: CircuitRow, *, rules: BreakerRules, now: datetime) -> float:
    """The share of the usual load that is let through, from 0 when the circuit closed to 1 at the end of the ramp."""
    began = circuit.closed_at
    if circuit.forced == CircuitState.OPEN and circuit.forced_until is not None:
        began = max(began or circuit.forced_until, circuit.forced_until)
    if began is None:
        return 1.0
    return min(1.0, max(0.0, (now - began).total_seconds() / rules.ramp))


def refilled(circuit: CircuitRow, *, rules: BreakerRules, now: datetime) -> CircuitRow:
    """The circuit with its tokens as of now. At most one second's worth is saved, so no burst exceeds the rate."""
    if circuit.rate_limit is None:
        return circuit
    rate = circuit.rate_limit * max(ramp(circuit, rules=rules, now=now), LEAST_RAMP)
    passed = 1.0 if circuit.tokens_at is None else max(0.0, (now - circuit.tokens_at).total_seconds())
    return circuit._replace(tokens=min(max(rate, 1.0), circuit.tokens + rate * passed), tokens_at=now)


def is_limited(circuit: CircuitRow, *, rules: BreakerRules, now: datetime) -> bool:
    """Whether dispatches must be counted at this circuit, which then only one scheduler can do at a time."""
    return (
        circuit.rate_limit is not None
        or circuit.set_capacity is not None
        or not lets_calls_through(circuit, now)
        or ramp(circuit, rules=rules, now=now) < 1.0
    )


def room(
    circuit: CircuitRow,
    *,
    capacity: int,
    outstanding: int,
    own: int = 0,
    schedulers: int = 1,
    rules: BreakerRules,
    now: datetime,
) -> int:
    """How many requests one of several schedulers may dispatch now, given the capacity of the live hosts (rule 9).

    `outstanding` are the requests of all of them, `own` those of this one. Passes that run at the same time do not see
    each other's requests; since none has more than its share, together they stay within the credit, unless it is
    smaller than the number of schedulers: a share is one request at least. What is outstanding may be under way, so an
    operator's limit on that leaves nothing to be sent ahead, and holds for probes too.
    """
    if not capacity or circuit.paused:
        return 0
    if circuit.set_capacity is not None and outstanding >= circuit.set_capacity:
        return 0
    if not lets_calls_through(circuit, now):
        return int(is_probe_due(circuit, now))
    share = ramp(circuit, rules=rules, now=now)
    credit = max(1, math.ceil(rules.ahead * capacity * share))
    if circuit.set_capacity is not None:
        credit = min(credit, circuit.set_capacity)
    free = min(credit - outstanding, max(1, credit // schedulers) - own)
    if circuit.rate_limit is not None:
        free = min(free, math.floor(circuit.tokens))
    return max(0, free)
