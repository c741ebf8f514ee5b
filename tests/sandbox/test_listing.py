"""Listing a service's effects since a time, a page at a time."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlencode

import pytest

from sandbox.app import PAGE
from tests.sandbox.examples import PAIRS, Pair, reserve, reversal_of
from tests.sandbox.process import Sandbox, new_key

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def page(sandbox: Sandbox, service: str, *, since: datetime, after: str = "") -> dict[str, Any]:
    query = urlencode({"since": since.isoformat(), "after": after})
    reply = sandbox.ask("GET", f"/{service}/effects?{query}")
    assert reply.status == 200
    content: dict[str, Any] = reply.content
    return content


def walk(sandbox: Sandbox, service: str, *, since: datetime) -> list[dict[str, Any]]:
    """Every effect of a service since then."""
    effects: list[dict[str, Any]] = []
    after: str | None = ""
    while after is not None:
        answer = page(sandbox, service, since=since, after=after)
        effects += answer["effects"]
        after = answer["next"]
    return effects


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.forward)
def test_an_effect_and_its_reversal_are_listed_and_the_effect_is_reversed(
    sandbox: Sandbox, pair: Pair
) -> None:
    began, key, reversal_key = datetime.now(UTC), new_key(), new_key()
    sandbox.call(pair.forward_path, pair.body, key)
    (effect,) = walk(sandbox, pair.service, since=began)
    assert effect == {
        "key": key, "operation": pair.forward, "order_id": "o-1", "at": effect["at"], "reversed": False,
    }  # fmt: skip
    assert began <= datetime.fromisoformat(effect["at"]) <= datetime.now(UTC)
    sandbox.call(pair.reversal_path, reversal_of(key), reversal_key)
    first, second = walk(sandbox, pair.service, since=began)
    assert first == effect | {"reversed": True}
    assert (second["key"], second["operation"], second["reversed"]) == (reversal_key, pair.reversal, False)


def test_pages_are_bounded_and_list_every_effect_once_in_the_order_of_time(sandbox: Sandbox) -> None:
    began, keys = datetime.now(UTC), [new_key() for _ in range(PAGE + 3)]
    for key in keys:
        sandbox.call("/warehouse/reserve", reserve(), key)
    first = page(sandbox, "warehouse", since=began)
    assert [effect["key"] for effect in first["effects"]] == keys[:PAGE]
    second = page(sandbox, "warehouse", since=began, after=first["next"])
    assert [effect["key"] for effect in second["effects"]] == keys[PAGE:]
    assert second["next"] is None


def test_effects_before_the_time_and_of_other_services_are_left_out(sandbox: Sandbox) -> None:
    sandbox.call("/warehouse/reserve", reserve(), new_key())
    began, key = datetime.now(UTC), new_key()
    sandbox.call("/warehouse/reserve", reserve(), key)
    assert [effect["key"] for effect in walk(sandbox, "warehouse", since=began)] == [key]
    assert walk(sandbox, "carrier", since=began) == []
    assert page(sandbox, "warehouse", since=datetime.now(UTC) + timedelta(hours=1)) == {
        "effects": [], "next": None,
    }  # fmt: skip


def test_a_time_of_another_zone_is_the_same_moment(sandbox: Sandbox) -> None:
    sandbox.call("/warehouse/reserve", reserve(), new_key())
    began, key = datetime.now(timezone(timedelta(hours=5))), new_key()
    sandbox.call("/warehouse/reserve", reserve(), key)
    assert [effect["key"] for effect in walk(sandbox, "warehouse", since=began)] == [key]


def test_a_refused_call_is_no_effect_and_a_repeated_one_of_a_service_without_keys_is_two(
    sandbox: Sandbox,
) -> None:
    began, key = datetime.now(UTC), new_key()
    sandbox.faults("warehouse", keyless=True, refuse_rate=1)
    sandbox.call("/warehouse/reserve", reserve(), new_key())
    sandbox.faults("warehouse", refuse_rate=0)
    for _ in range(2):
        sandbox.call("/warehouse/reserve", reserve(), key)
    assert [effect["key"] for effect in walk(sandbox, "warehouse", since=began)] == [key, key]


def test_a_listing_fails_like_any_other_call_and_refuses_a_bad_query(sandbox: Sandbox) -> None:
    sandbox.faults("carrier", error_rate=1, error_status=500)
    since = urlencode({"since": LONG_AGO.isoformat()})
    assert sandbox.ask("GET", f"/carrier/effects?{since}").code == "injected_error"
    for query, code in [
        ("", "invalid_since"),
        ("since=yesterday", "invalid_since"),
        ("since=2026-01-01", "invalid_since"),
        (f"{since}&after=x", "invalid_after"),
    ]:
        assert sandbox.ask("GET", f"/warehouse/effects?{query}").code == code
