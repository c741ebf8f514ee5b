"""Each operation has its effect once and shows it; an invalid call is refused and changes nothing."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.sandbox.examples import PAIRS, Pair, authorise, capture, create, reserve
from tests.sandbox.process import Reply, Sandbox, new_key


def by_operation(pair: Pair) -> str:
    return f"{pair.service}-{pair.forward}"


@pytest.mark.parametrize("pair", PAIRS, ids=by_operation)
def test_a_forward_call_answers_ids_and_is_in_the_ledger(sandbox: Sandbox, pair: Pair) -> None:
    key = new_key()
    reply = sandbox.call(pair.forward_path, pair.body, key)
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith("application/json")
    assert reply.content.keys() == pair.gives.keys()
    assert all(reply.content[name].startswith(prefix) for name, prefix in pair.gives.items())
    (entry,) = sandbox.ledger(pair.service, key)
    at = datetime.fromisoformat(entry.pop("at"))
    assert at.tzinfo is not None
    assert abs(datetime.now(UTC) - at) < timedelta(seconds=30)
    amount = {} if pair.amount is None else {"amount": pair.amount}
    assert entry == {"key": key, "operation": pair.forward, "order_id": "o-1", **amount}


def test_the_ledger_is_one_array_newest_last(sandbox: Sandbox) -> None:
    keys = [new_key() for _ in range(150)]
    for key in keys:
        sandbox.call("/warehouse/reserve", reserve(), key)
    entries = sandbox.ledger("warehouse")
    assert [entry["key"] for entry in entries][-len(keys) :] == keys
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)


def test_a_declined_card_is_a_definite_no_kept_under_the_key(sandbox: Sandbox) -> None:
    key = new_key()
    first, again = (sandbox.call("/payments/authorise", authorise("card_declined"), key) for _ in range(2))
    assert (first.status, first.code) == (402, "card_declined")
    assert (again.status, again.content) == (402, first.content)
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert sandbox.ledger("payments", key) == []


@pytest.mark.parametrize("method", ["card_gold", "", "\ud800"])
def test_an_unknown_card_is_a_definite_no_kept_under_the_key(sandbox: Sandbox, method: str) -> None:
    key = new_key()
    first, again = (sandbox.call("/payments/authorise", authorise(method), key) for _ in range(2))
    assert (first.status, first.code) == (422, "unknown_payment_method")
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_slow_card_answers_after_three_seconds(sandbox: Sandbox) -> None:
    key = new_key()
    began = datetime.now(UTC)
    assert sandbox.call("/payments/authorise", authorise("card_slow"), key).status == 200
    assert timedelta(seconds=3) <= datetime.now(UTC) - began < timedelta(seconds=5)
    assert len(sandbox.ledger("payments", key)) == 1


UNUSABLE: list[tuple[str, Any]] = [
    ("/warehouse/reserve", []),
    ("/warehouse/reserve", {"lines": reserve()["lines"]}),
    ("/warehouse/reserve", {**reserve(), "order_id": 7}),
    ("/warehouse/reserve", {**reserve(), "order_id": "\ud800"}),
    ("/warehouse/reserve", {**reserve(), "lines": []}),
    ("/warehouse/reserve", {**reserve(), "lines": [{"sku": "a", "quantity": 0}]}),
    ("/warehouse/reserve", {**reserve(), "lines": [{"sku": "a", "quantity": True}]}),
    ("/warehouse/reserve", {**reserve(), "lines": [{"quantity": 1}]}),
    ("/warehouse/release", {"order_id": "o-1"}),
    ("/payments/authorise", {**authorise(), "amount": "42"}),
    ("/payments/authorise", {**authorise(), "amount": -1}),
    ("/payments/authorise", {**authorise(), "amount": 10**30}),
    ("/payments/authorise", {**authorise(), "currency": "EURO"}),
    ("/payments/authorise", {**authorise(), "payment_method": None}),
    ("/payments/capture", {**capture(), "authorisation": ""}),
    ("/carrier/create", {**create(), "ship_to": {}}),
    ("/carrier/create", {**create(), "ship_to": "Paris"}),
]


@pytest.mark.parametrize(("path", "body"), UNUSABLE)
def test_an_invalid_body_is_400_and_uses_up_no_key(sandbox: Sandbox, path: str, body: Any) -> None:
    key = new_key()
    reply = sandbox.call(path, body, key)
    assert (reply.status, reply.code) == (400, "invalid_body")
    assert sandbox.call("/warehouse/reserve", reserve(), key).status == 200


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[" * 200_000])
def test_a_body_that_is_not_json_is_400(sandbox: Sandbox, raw: bytes) -> None:
    reply = sandbox.ask("POST", "/warehouse/reserve", raw, {"Idempotency-Key": new_key()})
    assert (reply.status, reply.code) == (400, "invalid_json")


def test_a_call_needs_a_valid_key(sandbox: Sandbox) -> None:
    def with_headers(headers: dict[str, str]) -> Reply:
        return sandbox.ask("POST", "/warehouse/reserve", json.dumps(reserve()).encode(), headers)

    assert with_headers({}).code == "missing_idempotency_key"
    assert with_headers({"Idempotency-Key": "x" * 256}).code == "invalid_idempotency_key"
    assert with_headers({"Idempotency-Key": "caf\xe9"}).code == "invalid_idempotency_key"


def test_a_body_over_one_megabyte_is_413(sandbox: Sandbox) -> None:
    padded = {**reserve(), "note": "x" * 2**20}
    reply = sandbox.call("/warehouse/reserve", padded, new_key())
    assert (reply.status, reply.code) == (413, "body_too_large")
    padded["note"] = "x" * (2**20 - 200)
    assert sandbox.call("/warehouse/reserve", padded, new_key()).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/warehouse/authorise", 404),
        ("POST", "/bakery/reserve", 404),
        ("GET", "/_ledger/bakery", 404),
        ("PUT", "/_faults/bakery", 404),
        ("GET", "/warehouse/reserve", 405),
    ],
)
def test_an_unknown_url_or_method_is_a_json_error(
    sandbox: Sandbox, method: str, path: str, status: int
) -> None:
    reply = sandbox.ask(method, path, b"{}", {"Idempotency-Key": new_key()})
    assert reply.status == status
    assert reply.content["error"].keys() == {"code", "message"}


def test_health_is_200(sandbox: Sandbox) -> None:
    assert sandbox.ask("GET", "/_health").status == 200
