"""Each fault does what its name says, in the documented order, and a reset removes them all."""

import http.client
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.sandbox.examples import authorise, reserve, reversal_of
from tests.sandbox.process import Sandbox, eventually, new_key, read_reply

PATH = "/warehouse/reserve"
NONE = {
    "latency_ms": [0, 0],
    "error_rate": 0,
    "error_status": 503,
    "hang_rate": 0,
    "lost_reply_rate": 0,
    "refuse_rate": 0,
    "down": False,
    "keyless": False,
}
SHOWN = {
    "warehouse": {**NONE, "stock": {}},
    "payments": NONE,
    "carrier": {**NONE, "unserved": []},
    "mail": NONE,
}
"""What each service shows without faults."""


def is_cut(connection: http.client.HTTPConnection) -> bool:
    """Whether a started call ends without an answer."""
    try:
        read_reply(connection)
    except (http.client.RemoteDisconnected, ConnectionResetError):
        return True
    finally:
        connection.close()
    return False


def test_a_put_sets_the_fields_it_names_and_leaves_the_others(sandbox: Sandbox) -> None:
    carrier = SHOWN["carrier"]
    assert sandbox.faults("carrier", error_rate=0.5).content == {**carrier, "error_rate": 0.5}
    both = {**carrier, "error_rate": 0.5, "latency_ms": [10, 20.5]}
    assert sandbox.faults("carrier", latency_ms=[10, 20.5]).content == both
    assert sandbox.faults("carrier").content == both
    assert sandbox.ask("GET", "/_faults").content == {**SHOWN, "carrier": both}
    reset = sandbox.ask("DELETE", "/_faults")
    assert (reset.status, reset.content) == (200, SHOWN)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"eror_rate": 1}, "unknown_field"),
        ({"error_rate": 1.1}, "invalid_value"),
        ({"error_rate": True}, "invalid_value"),
        ({"error_rate": "1"}, "invalid_value"),
        ({"error_rate": float("nan")}, "invalid_value"),
        ({"error_status": 200}, "invalid_value"),
        ({"error_status": 503.0}, "invalid_value"),
        ({"latency_ms": [20, 10]}, "invalid_value"),
        ({"latency_ms": [-1, 10]}, "invalid_value"),
        ({"latency_ms": 10}, "invalid_value"),
        ({"down": 1}, "invalid_value"),
        ({"hang_rate": 0.5, "refuse_rate": 2}, "invalid_value"),
        ([], "invalid_faults"),
    ],
)
def test_a_bad_setting_is_400_and_changes_nothing(sandbox: Sandbox, body: Any, code: str) -> None:
    reply = sandbox.ask("PUT", "/_faults/warehouse", json.dumps(body).encode())
    assert (reply.status, reply.code) == (400, code)
    assert sandbox.ask("GET", "/_faults").content["warehouse"] == SHOWN["warehouse"]


def test_an_invalid_setting_is_reported_with_what_is_expected(sandbox: Sandbox) -> None:
    reply = sandbox.ask("PUT", "/_faults/warehouse", b'{"hang_rate": 7}')
    assert reply.content["error"]["message"] == "hang_rate=7 is not valid; expected a number from 0 to 1"
    assert sandbox.ask("PUT", "/_faults/warehouse", b"{").code == "invalid_json"


@pytest.mark.parametrize("fault", [{"down": True}, {"error_rate": 1}])
def test_a_service_in_trouble_does_nothing_and_keeps_nothing(sandbox: Sandbox, fault: dict[str, Any]) -> None:
    key = new_key()
    sandbox.faults("warehouse", **fault)
    if "down" in fault:
        assert sandbox.cuts(PATH, reserve(), key)
    else:
        assert sandbox.call(PATH, reserve(), key).status == 503
    sandbox.ask("DELETE", "/_faults")
    assert sandbox.ledger("warehouse", key) == []
    reply = sandbox.call(PATH, reserve("o-2"), key)
    assert reply.status == 200
    assert "Idempotent-Replayed" not in reply.headers


@pytest.mark.parametrize(("status", "waits"), [(503, "1"), (429, "1"), (500, None), (404, None)])
def test_an_error_has_the_status_that_was_set(sandbox: Sandbox, status: int, waits: str | None) -> None:
    sandbox.faults("warehouse", error_rate=1, error_status=status)
    reply = sandbox.call(PATH, reserve(), new_key())
    assert (reply.status, reply.code) == (status, "injected_error")
    assert reply.headers.get("Retry-After") == waits


def test_a_rate_is_a_probability(sandbox: Sandbox) -> None:
    sandbox.faults("warehouse", error_rate=0.5)
    statuses = [sandbox.call(PATH, reserve(), new_key()).status for _ in range(200)]
    assert 50 < statuses.count(503) < 150
    assert statuses.count(200) == 200 - statuses.count(503)


def test_faults_of_one_service_leave_the_others_alone(sandbox: Sandbox) -> None:
    sandbox.faults("payments", down=True)
    assert sandbox.call(PATH, reserve(), new_key()).status == 200


def test_latency_delays_the_answer(sandbox: Sandbox) -> None:
    sandbox.faults("warehouse", latency_ms=[300, 400])
    began = datetime.now(UTC)
    assert sandbox.call(PATH, reserve(), new_key()).status == 200
    assert datetime.now(UTC) - began >= timedelta(seconds=0.3)


def test_a_hang_ends_when_the_client_leaves_and_never_acts(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", hang_rate=1)
    sandbox.begin(PATH, reserve(), key).close()
    sandbox.faults("warehouse", hang_rate=0)
    reply = eventually(lambda: (reply := sandbox.call(PATH, reserve(), key)).status == 200 and reply)
    assert "Idempotent-Replayed" not in reply.headers
    assert len(sandbox.ledger("warehouse", key)) == 1


@pytest.mark.parametrize("by_card", [True, False])
def test_a_hang_ends_when_the_faults_are_deleted_and_never_acts(sandbox: Sandbox, by_card: bool) -> None:
    key = new_key()
    body = authorise("card_hangs" if by_card else "card_ok")
    sandbox.faults("payments", hang_rate=0 if by_card else 1)
    running = sandbox.begin("/payments/authorise", body, key)
    sandbox.ask("DELETE", "/_faults")
    assert is_cut(running)
    assert sandbox.ledger("payments", key) == []
    reply = sandbox.call("/payments/void", reversal_of(key), new_key())
    assert reply.content["result"] == "nothing_to_reverse"


def test_a_service_that_goes_down_cuts_the_calls_in_their_latency(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", latency_ms=[1500, 1500])
    running = sandbox.begin(PATH, reserve(), key)
    sandbox.faults("warehouse", down=True)
    assert is_cut(running)
    assert sandbox.ledger("warehouse", key) == []


def test_a_refusal_is_a_definite_no_kept_under_the_key(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", refuse_rate=1)
    first = sandbox.call(PATH, reserve(), key)
    sandbox.ask("DELETE", "/_faults")
    again = sandbox.call(PATH, reserve(), key)
    assert (first.status, first.code) == (422, "refused")
    assert (again.status, again.content) == (422, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert sandbox.ledger("warehouse", key) == []
    assert sandbox.call(PATH, reserve(), new_key()).status == 200


def test_a_key_that_was_answered_is_not_refused_later(sandbox: Sandbox) -> None:
    key = new_key()
    first = sandbox.call(PATH, reserve(), key)
    sandbox.faults("warehouse", refuse_rate=1)
    assert sandbox.call(PATH, reserve(), key).content == first.content


def test_after_a_lost_reply_a_retry_gets_the_first_answer(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.faults("warehouse", lost_reply_rate=1)
    assert sandbox.cuts(PATH, reserve(), key)
    (entry,) = sandbox.ledger("warehouse", key)
    assert sandbox.cuts(PATH, reserve(), key)
    sandbox.ask("DELETE", "/_faults")
    again = sandbox.call(PATH, reserve(), key)
    assert again.status == 200
    assert again.headers["Idempotent-Replayed"] == "true"
    assert sandbox.ledger("warehouse", key) == [entry]


def test_a_lost_reversal_is_done_once(sandbox: Sandbox) -> None:
    forward, back = new_key(), new_key()
    sandbox.call(PATH, reserve(), forward)
    sandbox.faults("warehouse", lost_reply_rate=1)
    assert sandbox.cuts("/warehouse/release", reversal_of(forward), back)
    sandbox.ask("DELETE", "/_faults")
    assert sandbox.call("/warehouse/release", reversal_of(forward), back).content["result"] == "reversed"
    assert len(sandbox.ledger("warehouse", back)) == 1


def test_faults_apply_in_their_documented_order(sandbox: Sandbox) -> None:
    everything = {"error_rate": 1, "refuse_rate": 1, "lost_reply_rate": 1}
    key = new_key()
    sandbox.faults("warehouse", down=True, hang_rate=1, latency_ms=[600_000, 600_000], **everything)
    assert sandbox.cuts(PATH, reserve(), key)
    sandbox.faults("warehouse", down=False, latency_ms=[0, 0])
    hanging = sandbox.begin(PATH, reserve(), key)
    hanging.close()
    sandbox.faults("warehouse", hang_rate=0)
    assert eventually(lambda: sandbox.call(PATH, reserve(), key).status == 503)
    sandbox.faults("warehouse", error_rate=0)
    assert sandbox.call(PATH, reserve(), key).code == "refused"
    sandbox.faults("warehouse", refuse_rate=0)
    assert sandbox.cuts(PATH, reserve(), new_key())


def test_faults_take_precedence_over_a_replay(sandbox: Sandbox) -> None:
    key = new_key()
    sandbox.call(PATH, reserve(), key)
    sandbox.faults("warehouse", error_rate=1)
    assert sandbox.call(PATH, reserve(), key).status == 503
    sandbox.faults("warehouse", down=True)
    assert sandbox.cuts(PATH, reserve(), key)
