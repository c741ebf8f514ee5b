"""`manage.py reconcile` against the sandbox: what it shows, says and returns."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings
from uuid_utils.compat import uuid7

from orders.business import registry
from orders.engine.runtime.sql import database_now
from orders.models import OrderProcess, StepState
from tests.commands.running import Ran, run
from tests.sandbox.examples import create, reserve, reversal_of
from tests.sandbox.process import Sandbox
from tests.support.factories import ago, ahead, make_order

pytestmark = pytest.mark.django_db

DONE = {"reserve-stock": "completed", "create-shipment": "completed"}


@pytest.fixture
def sandbox(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    for service in ("warehouse", "payments", "carrier"):
        monkeypatch.setenv(f"{service.upper()}_URL", f"http://127.0.0.1:{sandbox.port}/{service}")
    return sandbox


@pytest.fixture
def since() -> str:
    """The time at which the test begins, because the tests share a sandbox."""
    return database_now().isoformat()


def order_of_the_shop(steps: dict[str, Any], **process: Any) -> OrderProcess:
    (workflow,) = registry.workflows().values()
    order = make_order(steps, workflow=workflow, **({"process_state": "processing"} | process))
    StepState.objects.filter(process=order, state="completed").update(completed_at=database_now())
    return order


def reserved(sandbox: Sandbox, order_id: UUID) -> str:
    """Reserves the order's stock at the warehouse; returns the key."""
    key = f"{order_id}/reserve-stock/1"
    assert sandbox.call("/warehouse/reserve", reserve(str(order_id)), key).status == 200
    return key


def shipped(sandbox: Sandbox, order_id: UUID) -> str:
    """Creates the order's shipment at the carrier; returns the key."""
    key = f"{order_id}/create-shipment/1"
    assert sandbox.call("/carrier/create", create(str(order_id)), key).status == 200
    return key


def agent_of(ran: Ran, name: str) -> dict[str, Any]:
    """The report on one agent, as JSON."""
    report: dict[str, Any]
    (report,) = [report for report in ran.json()["agents"] if report["agent"] == name]
    return report


@pytest.mark.pattern("F35")
def test_nothing_is_wrong_with_orders_that_both_sides_know(sandbox: Sandbox, since: str) -> None:
    for _ in range(3):
        order = order_of_the_shop(DONE)
        reserved(sandbox, order.order_id)
        shipped(sandbox, order.order_id)
    ran = run("reconcile", "--since", since)
    assert ran.code == 0
    assert ran.line_with("warehouse") == "warehouse 3 3 0 –"
    assert ran.line_with("payments") == "payments 0 0 0 –"
    assert ran.line_with("carrier") == "carrier 3 3 0 –"
    assert (
        "mail – – – cannot be compared: the agent can neither list effects nor ask about steps" in ran.words
    )
    assert "0 discrepancies in what was done since" in ran.words
    assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.pattern("F35")
def test_effects_of_lost_orders_are_listed_with_what_to_do(sandbox: Sandbox, since: str) -> None:
    lost = uuid7()
    keys = [reserved(sandbox, lost), shipped(sandbox, lost)]
    ran = run("reconcile", "--since", since)
    assert ran.code == 1
    assert ran.out.startswith("2 effects at the service, without an order here\n")
    assert ran.line_with(keys[0]).startswith(f"{keys[0]} warehouse reserve")
    assert ran.line_with(keys[1]).startswith(f"{keys[1]} carrier create")
    assert "to do: place each order again with its client's Idempotency-Key" in ran.words
    assert "2 discrepancies in what was done since" in ran.words
    assert max(map(len, ran.out.splitlines())) <= 100


@pytest.mark.pattern("F35")
def test_a_service_that_lost_its_data_is_found_out(sandbox: Sandbox, since: str) -> None:
    order = order_of_the_shop(DONE)
    reserved(sandbox, order.order_id)
    ran = run("reconcile", "--since", since)
    assert ran.code == 1
    assert ran.out.startswith("1 step completed here, not done at the service\n")
    key = f"{order.order_id}/create-shipment/1"
    assert ran.line_with(key).startswith(f"{key} carrier create")
    assert "have it entered again at the service" in ran.words


def test_each_kind_of_discrepancy_has_a_headline_and_a_remedy(sandbox: Sandbox, since: str) -> None:
    behind = order_of_the_shop(
        {"reserve-stock": {"state": "failed", "outcome": "none"}}, process_state="error"
    )
    unrecorded = order_of_the_shop({"reserve-stock": "failed"}, process_state="error")
    there = order_of_the_shop({"reserve-stock": "completed"})
    here = order_of_the_shop({"reserve-stock": "compensated"}, process_state="compensated", goal="compensate")
    keys = [reserved(sandbox, order.order_id) for order in (behind, unrecorded, there, here)]
    reversal = reversal_of(keys[2], str(there.order_id))
    sandbox.call("/warehouse/release", reversal, f"{keys[2]}/undo")
    ran = run("reconcile", "--since", since, "--agent", "warehouse")
    assert ran.code == 1
    for headline in (
        "1 effect at the service, ahead of the step here",
        "1 effect at the service, not done according to the order here",
        "1 effect reversed at the service, not here",
        "1 effect reversed here, not at the service",
    ):
        assert headline in ran.words
    assert ran.words.count("to do: ") == 4
    shown = [
        discrepancy["kind"]
        for discrepancy in agent_of(run("reconcile", "--since", since, "--json"), "warehouse")[
            "discrepancies"
        ]
    ]
    assert sorted(shown) == ["not_recorded", "not_reversed_there", "reversed_there", "step_behind"]


def test_json_has_every_discrepancy_and_every_count(sandbox: Sandbox, since: str) -> None:
    lost = uuid7()
    key = reserved(sandbox, lost)
    ran = run("reconcile", "--since", since, "--json")
    assert ran.code == 1
    assert ran.json()["since"] == since
    assert [report["agent"] for report in ran.json()["agents"]] == [*registry.agent_names()]
    report = agent_of(ran, "warehouse")
    (discrepancy,) = report.pop("discrepancies")
    assert report == {
        "agent": "warehouse", "effects": 1, "steps": 0, "awaited": 0, "foreign": 0, "unclear": 0,
        "reason": "", "fault": "", "is_full": False,
    }  # fmt: skip
    assert discrepancy.pop("at") > since
    assert discrepancy == {
        "kind": "order_unknown", "agent": "warehouse", "order_id": str(lost), "step": "reserve-stock",
        "key": key, "operation": "reserve",
    }  # fmt: skip
    assert agent_of(ran, "mail")["effects"] is agent_of(ran, "mail")["steps"] is None


def test_only_the_agents_that_are_named_are_compared(sandbox: Sandbox, since: str) -> None:
    reserved(sandbox, uuid7())
    ran = run(
        "reconcile", "--since", since, "--agent", "carrier", "--agent", "mail", "--agent", "carrier", "--json"
    )
    assert ran.code == 0
    assert [report["agent"] for report in ran.json()["agents"]] == ["carrier", "mail"]


@pytest.mark.pattern("F35")
def test_a_service_that_is_down_is_named_and_the_others_are_compared(sandbox: Sandbox, since: str) -> None:
    sandbox.faults("carrier", down=True)
    ran = run("reconcile", "--since", since)
    assert ran.code == 2
    assert "carrier 0 0 0 could not be compared to the end: connection_lost" in ran.words
    assert ran.err.strip() == "not compared to the end: carrier"
    assert ran.line_with("warehouse") == "warehouse 0 0 0 –"
    reserved(sandbox, uuid7())
    assert run("reconcile", "--since", since).code == 1


def test_effects_of_orders_under_way_and_of_others_are_mentioned(sandbox: Sandbox, since: str) -> None:
    order = order_of_the_shop({}, process_state="pending")
    reserved(sandbox, order.order_id)
    sandbox.call("/warehouse/reserve", reserve("7"), "invoice-7")
    ran = run("reconcile", "--since", since, "--agent", "warehouse")
    assert ran.code == 0
    assert "warehouse 2 0 0 1 effect under keys that are not ours" in ran.words
    assert "1 effect that orders under way have yet to ask for" in ran.words


@pytest.mark.parametrize("text", ["90m", "24h", "7d", "2026-01-01", "2026-01-01T00:00:00+05:00"])
def test_a_time_is_a_length_or_a_moment(text: str, sandbox: Sandbox) -> None:
    assert run("reconcile", "--since", text, "--agent", "mail").code == 0


@pytest.mark.parametrize("text", ["yesterday", "0h", "24", "24w", "-3h", "", "9999999d", "999999d"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    ran = run("reconcile", f"--since={text}")
    assert (ran.code, ran.out) == (2, "")
    assert "is neither a length such as 90m, 24h or 7d, nor an ISO 8601 time" in ran.err


def test_a_time_in_the_future_is_refused() -> None:
    ran = run("reconcile", "--since", ahead(60).isoformat())
    assert ran.code == 2
    assert "takes a time in the past" in ran.err


def test_a_time_for_which_orders_may_have_been_deleted_is_refused(settings: Settings) -> None:
    settings.CONFIG = replace(settings.CONFIG, keep_finished=2, keep_archived=3)
    ran = run("reconcile", "--since", "6d")
    assert ran.code == 2
    assert "--since goes back further than the 5 days for which orders are kept" in ran.words
    assert run("reconcile", "--since", "4d", "--agent", "mail").code == 0


def test_it_changes_nothing(sandbox: Sandbox, since: str) -> None:
    order = order_of_the_shop(DONE)
    reserved(sandbox, uuid7())
    before = [*OrderProcess.objects.values()], [*StepState.objects.order_by("id").values()]
    ledgers = [sandbox.ledger(service) for service in ("warehouse", "payments", "carrier")]
    assert run("reconcile", "--since", since).code == 1
    assert ([*OrderProcess.objects.values()], [*StepState.objects.order_by("id").values()]) == before
    assert [sandbox.ledger(service) for service in ("warehouse", "payments", "carrier")] == ledgers
    assert OrderProcess.objects.get().order_id == order.order_id


def test_inquiries_keep_to_the_rate_of_the_agents(sandbox: Sandbox, since: str, settings: Settings) -> None:
    settings.CONFIG = replace(settings.CONFIG, agent_rate=10.0)
    for _ in range(5):
        reserved(sandbox, order_of_the_shop({"reserve-stock": "completed"}).order_id)
    began = database_now()
    assert run("reconcile", "--since", since, "--agent", "warehouse").code == 0
    assert began < ago(0.5)
