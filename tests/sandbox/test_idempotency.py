"""A repeated key gets the first answer again and has its effect once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.sandbox.examples import PAIRS, Pair, authorise, capture, create, reserve, reversal_of
from tests.sandbox.process import Sandbox, eventually, new_key, read_reply


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.forward)
def test_the_same_key_answers_the_first_answer_again(sandbox: Sandbox, pair: Pair) -> None:
    key = new_key()
    first, again = (sandbox.call(pair.forward_path, pair.body, key) for _ in range(2))
    assert again.content == first.content
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(sandbox.ledger(pair.service, key)) == 1


def test_the_order_of_its_fields_does_not_change_a_body(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.call("/warehouse/reserve", reserve(), key)
    turned = dict(reversed(reserve().items()))
    assert sandbox.call("/warehouse/reserve", turned, key).status == 200


def test_the_same_key_with_another_body_is_refused(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.call("/warehouse/reserve", reserve("o-1"), key)
    other = sandbox.call("/warehouse/reserve", reserve("o-2"), key)
    assert (other.status, other.code) == (422, "idempotency_key_reused")
    assert sandbox.call("/warehouse/reserve", reserve("o-1"), key).status == 200
    assert len(sandbox.ledger("warehouse", key)) == 1


def test_the_same_key_for_another_operation_is_refused(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.call("/payments/authorise", authorise(), key)
    assert sandbox.call("/payments/capture", capture(), key).code == "idempotency_key_reused"
    assert sandbox.call("/payments/void", reversal_of(new_key()), key).code == "idempotency_key_reused"


def test_a_key_belongs_to_one_service(sandbox: Sandbox) -> None:
    key = new_key()
    assert sandbox.call("/warehouse/reserve", reserve(), key).status == 200
    assert sandbox.call("/carrier/create", create(), key).status == 200


def test_the_same_key_while_the_first_call_runs_is_409(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", latency_ms=[1500, 1500])
    first = sandbox.begin("/warehouse/reserve", reserve(), key)
    second = sandbox.call("/warehouse/reserve", reserve(), key)
    assert (second.status, second.code) == (409, "in_progress")
    assert second.headers["Retry-After"] == "1"
    answer = read_reply(first)
    first.close()
    sandbox.ask("DELETE", "/_faults")
    again = sandbox.call("/warehouse/reserve", reserve(), key)
    assert (answer.status, again.content) == (200, answer.content)


@pytest.mark.parametrize("latency", [0, 300])
def test_twenty_simultaneous_calls_make_one_effect(sandbox: Sandbox, latency: int) -> None:
    key = new_key()
    sandbox.faults("payments", latency_ms=[latency, latency])
    with ThreadPoolExecutor(20) as threads:
        replies = list(threads.map(lambda _: sandbox.call("/payments/capture", capture(), key), range(20)))
    done = [reply for reply in replies if reply.status == 200]
    assert {reply.status for reply in replies} <= {200, 409}
    assert len([reply for reply in done if "Idempotent-Replayed" not in reply.headers]) == 1
    assert len({reply.content["capture"] for reply in done}) == 1
    assert len(sandbox.ledger("payments", key)) == 1


def test_a_call_goes_on_when_its_client_leaves(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", latency_ms=[1000, 1000])
    sandbox.begin("/warehouse/reserve", reserve(), key).close()
    assert sandbox.ledger("warehouse", key) == []
    assert eventually(lambda: sandbox.ledger("warehouse", key))
    sandbox.ask("DELETE", "/_faults")
    assert sandbox.call("/warehouse/reserve", reserve(), key).headers["Idempotent-Replayed"] == "true"
    assert len(sandbox.ledger("warehouse", key)) == 1
