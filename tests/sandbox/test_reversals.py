"""A reversal names a forward key: its effect is reversed once or, if it has not happened, never happens."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.sandbox.examples import PAIRS, Pair, authorise, capture, reserve, reversal_of
from tests.sandbox.process import Sandbox, new_key, read_reply

each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.reversal)


def without_time(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "at"}


@each_pair
def test_a_reversal_takes_the_effect_back_once(sandbox: Sandbox, pair: Pair) -> None:
    forward, back = new_key(), new_key()
    sandbox.call(pair.forward_path, pair.body, forward)
    first, again = (sandbox.call(pair.reversal_path, reversal_of(forward), back) for _ in range(2))
    assert first.status == 200
    assert first.content == {pair.done: True, "result": "reversed", "reverses": forward}
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    amount = {} if pair.amount is None else {"amount": pair.amount}
    (entry,) = sandbox.ledger(pair.service, back)
    assert without_time(entry) == {"key": back, "operation": pair.reversal, "order_id": "o-1", **amount}


@each_pair
def test_an_effect_is_not_taken_back_under_two_keys(sandbox: Sandbox, pair: Pair) -> None:
    forward, back, other = new_key(), new_key(), new_key()
    sandbox.call(pair.forward_path, pair.body, forward)
    sandbox.call(pair.reversal_path, reversal_of(forward), back)
    reply = sandbox.call(pair.reversal_path, reversal_of(forward), other)
    assert (reply.status, reply.content["result"]) == (200, "already_reversed")
    assert sandbox.ledger(pair.service, other) == []


@each_pair
def test_a_reversal_that_comes_first_bars_the_forward_key(sandbox: Sandbox, pair: Pair) -> None:
    forward, back = new_key(), new_key()
    reply = sandbox.call(pair.reversal_path, reversal_of(forward), back)
    assert reply.status == 200
    assert reply.content == {pair.done: True, "result": "nothing_to_reverse", "reverses": forward}
    first, again = (sandbox.call(pair.forward_path, pair.body, forward) for _ in range(2))
    assert (first.status, first.code) == (410, "reversed")
    assert (again.status, again.code) == (410, "reversed")
    assert sandbox.ledger(pair.service, forward) == []
    assert sandbox.ledger(pair.service, back) == []
    assert sandbox.call(pair.forward_path, pair.body, new_key()).status == 200


def test_a_forward_call_still_in_its_latency_does_not_happen_after_its_reversal(sandbox: Sandbox) -> None:
    forward = new_key()
    sandbox.faults("warehouse", latency_ms=[1500, 1500])
    running = sandbox.begin("/warehouse/reserve", reserve(), forward)
    sandbox.faults("warehouse", latency_ms=[0, 0])
    reply = sandbox.call("/warehouse/release", reversal_of(forward), new_key())
    assert reply.content["result"] == "nothing_to_reverse"
    late = read_reply(running)
    running.close()
    assert (late.status, late.code) == (410, "reversed")
    assert sandbox.ledger("warehouse", forward) == []


def test_forward_and_reversal_at_once_leave_nothing_standing(sandbox: Sandbox) -> None:
    pairs = [(new_key(), new_key()) for _ in range(60)]

    def race(keys: tuple[str, str]) -> None:
        sandbox.call("/payments/capture", capture(), keys[0])

    def race_back(keys: tuple[str, str]) -> None:
        assert sandbox.call("/payments/refund", reversal_of(keys[0]), keys[1]).status == 200

    with ThreadPoolExecutor(16) as threads:
        ended = [threads.submit(work, keys) for keys in pairs for work in (race, race_back)]
        for future in ended:
            future.result()
    happened = {entry["key"] for entry in sandbox.ledger("payments")}
    assert all((forward in happened) == (back in happened) for forward, back in pairs)


def test_a_call_that_was_refused_is_reversed_as_one_that_never_happened(sandbox: Sandbox) -> None:
    forward = new_key()
    sandbox.call("/payments/authorise", authorise("card_declined"), forward)
    reply = sandbox.call("/payments/void", reversal_of(forward), new_key())
    assert (reply.status, reply.content["result"]) == (200, "nothing_to_reverse")
    assert sandbox.call("/payments/authorise", authorise("card_declined"), forward).status == 402


def test_a_reversal_may_carry_more_than_it_needs(sandbox: Sandbox) -> None:
    forward = new_key()
    sandbox.call("/payments/capture", capture(), forward)
    body = {**reversal_of(forward), "amount": 4200, "currency": "EUR", "capture": "cap_1"}
    assert sandbox.call("/payments/refund", body, new_key()).content["result"] == "reversed"


def test_a_reversal_of_something_else_is_refused(sandbox: Sandbox) -> None:
    forward = new_key()
    sandbox.call("/payments/capture", capture("o-1"), forward)
    assert sandbox.call("/payments/void", reversal_of(forward), new_key()).code == "reverses_mismatch"
    assert (
        sandbox.call("/payments/refund", reversal_of(forward, "o-2"), new_key()).code == "reverses_mismatch"
    )
    own = new_key()
    assert sandbox.call("/payments/refund", reversal_of(own), own).code == "invalid_body"
