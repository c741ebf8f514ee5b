"""The rules of a circuit breaker: when it opens, when it is probed, and how fast waiting steps go through (A8)."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.engine.circuits.rules import (
    BreakerRules,
    CircuitRow,
    Tally,
    after_calls,
    is_limited,
    is_probe_due,
    lets_calls_through,
    probing,
    ramp,
    refilled,
    room,
    state_of,
)
from tests.unit.rows import NOW, at

pytestmark = pytest.mark.pattern("A8")

RULES = BreakerRules()
ORDERS = frozenset({"a", "b", "c"})
BROKEN = Tally(calls=5, failures=5, code="http_503", message="it is down", orders=ORDERS)
BLIP = Tally(calls=1, failures=1, code="no_answer", message="no answer", orders=frozenset("a"))
FINE = Tally(calls=1)
PROBE_FAILED = BLIP._replace(probe="failed")
PROBE_DONE = FINE._replace(probe="done")


def doubling(openings: int) -> float:
    """The longest wait before a probe, without the jitter."""
    return float(min(RULES.probe_cap, RULES.first_probe * 2.0 ** (openings - 1)))


def with_calls(circuit: CircuitRow, tally: Tally, now: datetime = NOW) -> CircuitRow:
    return after_calls(circuit, tally, rules=RULES, now=now, jitter=doubling)


def closed(**fields: Any) -> CircuitRow:
    return CircuitRow("kitchen", since=at(-100))._replace(**fields)


def opened(now: datetime = NOW) -> CircuitRow:
    return with_calls(closed(), BROKEN, now)


def half_open(now: datetime = NOW) -> CircuitRow:
    return probing(opened(now), rules=RULES, now=now)


@pytest.mark.parametrize(
    ("calls", "failures", "state"),
    [
        (4, 4, "closed"),  # too few calls to judge
        (5, 5, "open"),
        (10, 5, "open"),
        (11, 5, "closed"),  # most of them succeed
        (100, 49, "closed"),
        (100, 50, "open"),
    ],
)
def test_it_opens_at_five_failures_if_they_are_half_of_the_calls_in_a_window(
    calls: int, failures: int, state: str
) -> None:
    at_once = with_calls(closed(), Tally(calls, failures, code="http_503", orders=ORDERS))
    assert at_once.state == state
    # The same in two reports, the failures last.
    one_by_one = with_calls(
        with_calls(closed(), Tally(calls - failures)),
        Tally(failures, failures, code="http_503", orders=ORDERS),
        at(1),
    )
    assert one_by_one.state == state


def test_an_open_circuit_records_its_cause_and_the_time_of_its_probe() -> None:
    circuit = opened()
    assert (circuit.state, circuit.since, circuit.opened_at, circuit.openings) == ("open", NOW, NOW, 1)
    assert (circuit.cause_code, circuit.cause_message) == ("http_503", "it is down")
    assert circuit.probe_at == at(1)
    assert not lets_calls_through(circuit, NOW)


def test_failures_of_an_earlier_window_do_not_count() -> None:
    circuit = closed()
    for n in range(4):
        circuit = with_calls(circuit, BLIP, at(n))
    assert with_calls(circuit, BLIP, at(RULES.window)).state == "open"
    assert with_calls(circuit, BLIP, at(RULES.window + 0.1)).state == "closed"


def test_a_late_success_does_not_open_a_circuit_with_many_failures() -> None:
    circuit = with_calls(with_calls(closed(), Tally(20)), Tally(8, 8), at(1))
    assert (circuit.state, circuit.window_failures) == ("closed", 8)
    assert with_calls(circuit, FINE, at(2)).state == "closed"


@pytest.mark.parametrize("late", [FINE, BLIP, Tally(50, 1)], ids=["success", "failure", "many"])
def test_late_answers_do_not_change_an_open_circuit(late: Tally) -> None:
    circuit = opened()
    assert with_calls(circuit, late, at(5))._replace(succeeded_at=None) == circuit


@pytest.mark.parametrize(
    "late", [FINE, BLIP, BROKEN, Tally(50, 1)], ids=["success", "failure", "failures", "many"]
)
def test_late_answers_to_calls_before_the_probe_do_not_decide_about_a_half_open_circuit(late: Tally) -> None:
    assert with_calls(half_open(), late, at(5))._replace(succeeded_at=None) == half_open()


def test_the_failures_of_one_order_open_no_circuit_while_others_succeed() -> None:
    circuit = closed()
    for n in range(100):
        circuit = with_calls(circuit, BLIP._replace(calls=2, failures=2), at(2 * n))
        if n % 5 == 0:
            circuit = with_calls(circuit, FINE, at(2 * n + 1))
    assert circuit.state == "closed"
    for order in ("b", "c"):
        assert circuit.state == "closed"
        circuit = with_calls(circuit, BLIP._replace(calls=3, failures=3, orders=frozenset(order)), at(200))
    assert circuit.state == "open"


def test_the_failures_of_one_order_open_a_circuit_where_nothing_has_succeeded_lately() -> None:
    circuit = with_calls(closed(), FINE)
    alone = BLIP._replace(calls=5, failures=5)
    assert with_calls(circuit, alone, at(RULES.window)).state == "closed"
    assert with_calls(circuit, alone, at(RULES.window + 1)).state == "open"
    assert with_calls(closed(), alone).state == "open"


def test_a_probe_that_succeeds_closes_it_and_forgets_the_failures() -> None:
    circuit = with_calls(half_open(), PROBE_DONE, at(3))
    assert (circuit.state, circuit.since, circuit.closed_at) == ("closed", at(3), at(3))
    assert (circuit.openings, circuit.probe_at, circuit.window_failures) == (0, None, 0)
    assert circuit.opened_at == NOW  # the last outage, for operators to see


def test_a_probe_that_fails_opens_it_for_longer_each_time_up_to_the_cap() -> None:
    circuit, now, waits = opened(), NOW, []
    for _ in range(7):
        assert circuit.probe_at is not None
        waits.append((circuit.probe_at - now).total_seconds())
        now = circuit.probe_at
        circuit = with_calls(probing(circuit, rules=RULES, now=now), PROBE_FAILED, now)
        assert circuit.state == "open"
    assert waits == [1, 2, 4, 8, 15, 15, 15]
    assert circuit.opened_at == NOW  # still the same outage
    assert circuit.cause_code == "no_answer"


def test_a_report_of_no_calls_leaves_a_half_open_circuit_as_it_is() -> None:
    assert with_calls(half_open(), Tally(), at(1)) == half_open()


def test_a_probe_is_due_when_its_time_has_come_and_again_when_it_was_lost() -> None:
    circuit = opened()
    assert [is_probe_due(circuit, at(s)) for s in (0.9, 1.0, 60)] == [False, True, True]
    sent = probing(circuit, rules=RULES, now=at(1))
    assert sent.state == "half_open"
    lost = 1 + RULES.probe_patience
    assert [is_probe_due(sent, at(s)) for s in (1, lost - 1, lost)] == [False, False, True]
    assert not is_probe_due(closed(), NOW)


@pytest.mark.parametrize("own", [closed(), opened(), half_open()], ids=lambda circuit: circuit.state)
def test_an_operators_hold_counts_until_it_expires(own: CircuitRow) -> None:
    for forced, lets in (("closed", True), ("open", False)):
        circuit = own._replace(forced=forced, forced_until=at(10))
        assert (state_of(circuit, at(9)), lets_calls_through(circuit, at(9))) == (forced, lets)
        assert not is_probe_due(circuit, at(9))
        assert state_of(circuit, at(10)) == own.state


@pytest.mark.parametrize("own", [closed(), opened(), half_open()], ids=lambda circuit: circuit.state)
def test_nothing_is_sent_to_an_agent_that_is_paused(own: CircuitRow) -> None:
    circuit = own._replace(paused=True, forced="closed", forced_until=at(1000))
    assert not lets_calls_through(circuit, at(100))
    assert not is_probe_due(circuit, at(100))
    assert room(circuit, capacity=10, outstanding=0, rules=RULES, now=at(100)) == 0


@pytest.mark.parametrize(
    ("circuit", "capacity", "outstanding", "free"),
    [
        (closed(), 10, 0, 20),
        (closed(), 10, 15, 5),
        (closed(), 10, 20, 0),
        (closed(), 10, 90, 0),
        (closed(), 0, 0, 0),
        (opened(), 10, 0, 0),
        (opened(at(-2)), 10, 0, 1),
        (opened(at(-2)), 0, 0, 0),
        (half_open(), 10, 0, 0),
        (half_open(at(-50)), 10, 0, 1),
    ],
)
def test_credit_is_about_twice_the_capacity_and_one_probe_while_the_circuit_is_not_closed(
    circuit: CircuitRow, capacity: int, outstanding: int, free: int
) -> None:
    assert room(circuit, capacity=capacity, outstanding=outstanding, rules=RULES, now=NOW) == free


def test_credit_grows_every_second_after_a_circuit_closes() -> None:
    circuit = closed(closed_at=NOW)
    seconds = (0, 3, 15, 30, 90)
    assert [ramp(circuit, rules=RULES, now=at(s)) for s in seconds] == [0.0, 0.1, 0.5, 1.0, 1.0]
    assert [room(circuit, capacity=100, outstanding=0, rules=RULES, now=at(s)) for s in seconds] == [
        1,
        20,
        100,
        200,
        200,
    ]
    assert [is_limited(circuit, rules=RULES, now=at(s)) for s in seconds] == [True, True, True, False, False]


def test_an_expired_hold_is_followed_by_a_ramp_too() -> None:
    circuit = closed(forced="open", forced_until=at(60))
    assert [ramp(circuit, rules=RULES, now=at(s)) for s in (60, 75, 90)] == [0.0, 0.5, 1.0]
    let = closed(forced="closed", forced_until=at(60))
    assert ramp(let, rules=RULES, now=at(61)) == 1.0


def test_an_agent_that_never_failed_has_no_ramp_and_is_not_counted() -> None:
    assert ramp(closed(), rules=RULES, now=NOW) == 1.0
    assert not is_limited(closed(), rules=RULES, now=NOW)
    assert is_limited(closed(rate=5.0), rules=RULES, now=NOW)
    assert is_limited(closed(paused=True), rules=RULES, now=NOW)
    assert is_limited(opened(), rules=RULES, now=NOW)


def test_a_rate_gives_credit_for_at_most_one_second() -> None:
    circuit = refilled(closed(rate=10.0), rules=RULES, now=NOW)
    assert circuit.tokens == 10.0
    assert room(circuit, capacity=100, outstanding=0, rules=RULES, now=NOW) == 10
    spent = circuit._replace(tokens=0.0)
    assert room(spent, capacity=100, outstanding=0, rules=RULES, now=NOW) == 0
    for seconds, tokens in ((0.3, 3.0), (1.0, 10.0), (3600, 10.0)):
        assert refilled(spent, rules=RULES, now=at(seconds)).tokens == pytest.approx(tokens)


def test_a_rate_below_one_a_second_lets_a_request_through_now_and_then() -> None:
    spent = closed(rate=0.1, tokens=0.0, tokens_at=NOW)
    rooms = [
        room(refilled(spent, rules=RULES, now=at(s)), capacity=5, outstanding=0, rules=RULES, now=at(s))
        for s in (5, 10.1, 1000)
    ]
    assert rooms == [0, 1, 1]


def test_a_hosts_retries_count_against_the_rate() -> None:
    circuit = closed(rate=10.0, tokens=10.0, tokens_at=NOW)
    assert with_calls(circuit, Tally(calls=4, retries=3)).tokens == 7.0


def test_retries_without_a_rate_leave_no_debt_for_a_later_rate() -> None:
    circuit = with_calls(closed(), Tally(calls=1000, retries=900))
    assert circuit.tokens == 0.0
    limited = refilled(circuit._replace(rate=10.0), rules=RULES, now=NOW)
    assert room(limited, capacity=100, outstanding=0, rules=RULES, now=NOW) == 10


Act = Callable[[CircuitRow, datetime], CircuitRow]
ACTS: dict[str, Act] = {
    "success": lambda circuit, now: with_calls(circuit, FINE, now),
    "failure": lambda circuit, now: with_calls(circuit, BLIP, now),
    "probe done": lambda circuit, now: with_calls(circuit, PROBE_DONE, now),
    "probe failed": lambda circuit, now: with_calls(circuit, PROBE_FAILED, now),
    "crowd": lambda circuit, now: with_calls(circuit, BROKEN, now),
    "probe": lambda circuit, now: (
        probing(circuit, rules=RULES, now=now) if is_probe_due(circuit, now) else circuit
    ),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.floats(0, 30)), max_size=60))
def test_a_circuit_that_is_not_closed_is_always_probed_in_bounded_time(
    story: list[tuple[str, float]],
) -> None:
    circuit, clock = closed(), 0.0
    for act, seconds in story:
        clock += seconds
        before = circuit
        circuit = ACTS[act](circuit, at(clock))
        if before.state == "open" and circuit.state == "closed":
            raise AssertionError("only a probe closes it")
        if circuit.state != "closed":
            assert is_probe_due(circuit, at(clock + RULES.probe_patience))
            assert room(circuit, capacity=9, outstanding=0, rules=RULES, now=at(clock)) <= 1
