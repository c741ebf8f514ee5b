"""A host that fails where others succeed is put in quarantine, and a service that fails everywhere is not (rule 9)."""

from datetime import datetime

import pytest

from orders.engine.circuits.quarantine import HostCalls, Verdict, judge
from orders.engine.circuits.rules import BreakerRules, CircuitRow, Tally
from tests.unit.test_breaker import NOW, at

pytestmark = pytest.mark.pattern("A8", "A9")

RULES = BreakerRules()
FAILED = Tally(calls=5, failures=5, code="no_answer", message="no route", orders=frozenset("abc"))
FINE = Tally(calls=1)


def host(name: str, calls: int = 0, failures: int = 0) -> HostCalls:
    return HostCalls(name, "kitchen", NOW if calls else None, calls, failures)


def in_quarantine(name: str = "a", probes: int = 0) -> HostCalls:
    return HostCalls(name, "kitchen", quarantined_at=NOW, probe_at=at(1), probes=probes)


def verdict(
    own: HostCalls,
    *others: HostCalls,
    tally: Tally = FAILED,
    circuit: CircuitRow | None = None,
    now: datetime = NOW,
) -> Verdict:
    circuit = circuit or CircuitRow("kitchen")
    return judge(own, others, circuit, tally, rules=RULES, now=now, jitter=lambda failures: 2.0**failures)


def test_a_host_that_fails_where_another_succeeds_is_put_in_quarantine_and_its_calls_do_not_count() -> None:
    circuit = CircuitRow("kitchen", window_at=NOW, window_calls=10, window_failures=2, window_orders=("a",))
    own, tally, after = verdict(host("a", 2, 2), host("b", 8), circuit=circuit)
    assert (own.quarantined_at, own.probe_at, own.probes) == (NOW, at(2), 0)
    assert (tally.calls, tally.failures, tally.orders) == (0, 0, frozenset())
    assert (after.window_calls, after.window_failures, after.window_orders) == (8, 0, ())


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ([], "it is the only one"),
        ([host("b")], "the other has made no calls"),
        ([host("b", 4, 4)], "the other fails, too"),
        ([host("b", 4, 2)], "half of the other's calls fail"),
        ([in_quarantine("b")], "the other is in quarantine"),
        ([host("b", 9)._replace(window_at=at(-RULES.window - 1))], "the other's successes are old"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_host_whose_failures_may_be_the_services_counts_at_the_circuit(
    others: list[HostCalls], why: str
) -> None:
    own, tally, circuit = verdict(host("a"), *others)
    assert own.quarantined_at is None
    assert (own.window_calls, own.window_failures) == (5, 5)
    assert (tally, circuit) == (FAILED, CircuitRow("kitchen"))


@pytest.mark.parametrize(
    "tally",
    [
        FAILED._replace(calls=4, failures=4),
        FAILED._replace(calls=11),
        FAILED._replace(orders=frozenset("ab")),
    ],
    ids=["few failures", "fewer than half of its calls", "fewer than three orders"],
)
def test_a_host_that_fails_now_and_then_or_for_one_order_is_not_put_in_quarantine(tally: Tally) -> None:
    assert verdict(host("a"), host("b", 9), tally=tally).host.quarantined_at is None


@pytest.mark.parametrize("state", ["open", "half_open"])
def test_nobody_is_put_in_quarantine_while_the_circuit_is_not_closed(state: str) -> None:
    assert verdict(host("a"), host("b", 9), circuit=CircuitRow("kitchen", state)).host.quarantined_at is None


def test_a_call_that_fails_in_quarantine_prolongs_it_and_counts_nowhere() -> None:
    own, tally, _ = verdict(in_quarantine(probes=1), host("b", 9), now=at(5))
    assert (own.quarantined_at, own.probes, own.probe_at) == (NOW, 2, at(9))
    assert tally.calls == 0


@pytest.mark.parametrize("tally", [FINE, Tally(3, 2)], ids=["one", "one of three"])
def test_a_call_that_succeeds_ends_it(tally: Tally) -> None:
    own, counted, _ = verdict(in_quarantine(probes=3), host("b", 9), tally=tally)
    assert (own.quarantined_at, own.probe_at, own.probes, own.window_calls) == (None, None, 0, tally.calls)
    assert counted == tally


def test_a_host_that_is_left_alone_counts_at_the_circuit_again() -> None:
    own, counted, _ = verdict(in_quarantine())
    assert (own.quarantined_at, counted) == (None, FAILED)


def test_retries_of_a_host_in_quarantine_still_use_up_the_agents_rate() -> None:
    assert verdict(in_quarantine(), host("b", 9), tally=FAILED._replace(retries=4)).tally.retries == 4
