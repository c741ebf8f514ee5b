"""Asking what has become of a call; and a service that recognises no keys."""

import json

import pytest

from tests.sandbox.examples import PAIRS, Pair, authorise, reserve, reversal_of
from tests.sandbox.process import Sandbox, eventually, new_key, read_reply


def become_of(sandbox: Sandbox, service: str, key: str) -> object:
    reply = sandbox.ask("GET", f"/{service}/calls?key={key}")
    assert reply.status == 200
    return reply.content


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.forward)
def test_a_call_that_was_done_is_told_with_its_first_answer(sandbox: Sandbox, pair: Pair) -> None:
    key, reversal_key = new_key(), new_key()
    assert become_of(sandbox, pair.service, key) == {"result": "not_done"}
    answer = sandbox.call(pair.forward_path, pair.body, key).content
    assert become_of(sandbox, pair.service, key) == {"result": "done", "answer": answer}
    assert become_of(sandbox, pair.service, reversal_key) == {"result": "not_done"}
    reversal = sandbox.call(pair.reversal_path, reversal_of(key), reversal_key).content
    assert become_of(sandbox, pair.service, reversal_key) == {"result": "done", "answer": reversal}


def test_a_call_that_was_refused_was_not_done(sandbox: Sandbox) -> None:
    key = new_key()
    assert sandbox.call("/payments/authorise", authorise("card_declined"), key).status == 402
    assert become_of(sandbox, "payments", key) == {"result": "not_done"}


@pytest.mark.parametrize("keyless", [False, True])
def test_a_call_under_way_is_running(sandbox: Sandbox, keyless: bool) -> None:
    key = new_key()
    sandbox.faults("payments", keyless=keyless)
    body = json.dumps(authorise("card_slow")).encode()
    call = sandbox.open("POST", "/payments/authorise", body, {"Idempotency-Key": key})
    assert eventually(lambda: become_of(sandbox, "payments", key) == {"result": "running"})
    answer = read_reply(call)
    call.close()
    assert become_of(sandbox, "payments", key) == {"result": "done", "answer": answer.content}


def test_a_lost_reply_is_found_by_asking(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", lost_reply_rate=1)
    assert sandbox.cuts("/warehouse/reserve", reserve(), key)
    answer = become_of(sandbox, "warehouse", key)
    assert isinstance(answer, dict) and answer["result"] == "done"


def test_an_inquiry_fails_like_any_other_call(sandbox: Sandbox) -> None:
    sandbox.faults("carrier", error_rate=1, error_status=500)
    assert sandbox.ask("GET", f"/carrier/calls?key={new_key()}").code == "injected_error"
    assert sandbox.ask("GET", "/warehouse/calls").code == "missing_idempotency_key"


# --- without keys


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.forward)
def test_a_service_without_keys_does_again_what_it_is_asked_again(sandbox: Sandbox, pair: Pair) -> None:
    key, reversal_key = new_key(), new_key()
    sandbox.faults(pair.service, keyless=True)
    first, second = (sandbox.call(pair.forward_path, pair.body, key) for _ in range(2))
    assert first.content != second.content
    assert len(sandbox.ledger(pair.service, key)) == 2
    assert become_of(sandbox, pair.service, key) == {"result": "done", "answer": first.content}
    for _ in range(2):
        assert (
            sandbox.call(pair.reversal_path, reversal_of(key), reversal_key).content["result"] == "reversed"
        )
    assert len(sandbox.ledger(pair.service, reversal_key)) == 2


def test_a_service_without_keys_does_what_it_first_refused(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", keyless=True, refuse_rate=1)
    assert sandbox.call("/warehouse/reserve", reserve(), key).status == 422
    sandbox.faults("warehouse", refuse_rate=0)
    answer = sandbox.call("/warehouse/reserve", reserve(), key)
    assert become_of(sandbox, "warehouse", key) == {"result": "done", "answer": answer.content}


def test_a_service_without_keys_cannot_rule_out_a_call_that_comes_late(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", keyless=True)
    reversal = sandbox.call("/warehouse/release", reversal_of(key), new_key())
    assert reversal.content["result"] == "nothing_to_reverse"
    assert sandbox.call("/warehouse/reserve", reserve(), key).status == 200
