"""Quarantine: a host that fails where others succeed takes no more requests (rule 9), as pure rules.

A host without network fails fast, so it would claim the more requests, and its failures alone would open the circuit
for all. Its calls are therefore counted by themselves. When they fail while those of the other live hosts succeed, the
host is put in quarantine: it hands its requests over, its failures no longer count at the circuit, and it makes a
single call now and then. One that succeeds ends the quarantine. So does the end of the last other host, and an opening
of the circuit: then it is the remote service.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from orders.engine.circuits.rules import LEAST_ORDERS, BreakerRules, CircuitRow, Tally, first_orders
from orders.vocabulary import CircuitState


class HostCalls(NamedTuple):
    """How one live host's calls to one agent went in the present window, and its quarantine if it is in one.

    `probes` are the calls that have failed in quarantine; the next may be made at `probe_at`.
    """

    instance: str
    agent: str
    window_at: datetime | None = None
    window_calls: int = 0
    window_failures: int = 0
    quarantined_at: datetime | None = None
    probe_at: datetime | None = None
    probes: int = 0


class Verdict(NamedTuple):
    """The host after a report, the part of the report that counts at the circuit, and the circuit without the calls
    of a host that has just been put in quarantine."""

    host: HostCalls
    tally: Tally
    circuit: CircuitRow


def judge(
    host: HostCalls,
    others: Sequence[HostCalls],
    circuit: CircuitRow,
    tally: Tally,
    *,
    rules: BreakerRules,
    now: datetime,
    jitter: Callable[[int], float],
) -> Verdict:
    """Counts a report of a host, and decides whether it is in quarantine afterwards.

    `others` are the other live hosts of the agent. `jitter` gives the wait for a probe after that many failures.
    """
    own_part = tally._replace(calls=0, failures=0, orders=frozenset(), probe="")
    sound = [other for other in others if other.quarantined_at is None]
    if host.quarantined_at is not None:
        if sound and tally.calls == tally.failures:
            probes = host.probes + 1
            wait = timedelta(seconds=jitter(probes))
            return Verdict(host._replace(probes=probes, probe_at=now + wait), own_part, circuit)
        host = HostCalls(host.instance, host.agent)
    host = _counted(host, tally, rules, now)
    orders = first_orders({*circuit.window_orders, *tally.orders})
    if not (
        tally.failures
        and circuit.state == CircuitState.CLOSED
        and len(orders) >= LEAST_ORDERS
        and _fails(host, rules)
        and _succeed([_counted(other, Tally(), rules, now) for other in sound], rules)
    ):
        return Verdict(host, tally, circuit)
    quarantined = HostCalls(
        host.instance, host.agent, quarantined_at=now, probe_at=now + timedelta(seconds=jitter(1))
    )
    earlier_calls = host.window_calls - tally.calls
    earlier_failures = host.window_failures - tally.failures
    without = circuit._replace(
        window_calls=max(0, circuit.window_calls - earlier_calls),
        window_failures=max(0, circuit.window_failures - earlier_failures),
        window_orders=(),
    )
    return Verdict(quarantined, own_part, without)


def _counted(host: HostCalls, tally: Tally, rules: BreakerRules, now: datetime) -> HostCalls:
    """The host with these calls in its present window."""
    if host.window_at is None or now - host.window_at > timedelta(seconds=rules.window):
        host = host._replace(window_at=now, window_calls=0, window_failures=0)
    return host._replace(
        window_calls=host.window_calls + tally.calls, window_failures=host.window_failures + tally.failures
    )


def _succeed(hosts: Sequence[HostCalls], rules: BreakerRules) -> bool:
    calls = sum(host.window_calls for host in hosts)
    failures = sum(host.window_failures for host in hosts)
    return calls > failures and failures < rules.share * calls


def _fails(host: HostCalls, rules: BreakerRules) -> bool:
    return host.window_failures >= max(rules.least_failures, rules.share * host.window_calls)
