"""What the engine, its roles and its pure modules may import: no business, no web, and no other role."""

import pytest

from tests.architecture.source import (
    ENGINE_MODELS,
    ROLES,
    is_within,
    never,
    offences,
    only,
    reach,
    within,
)

PURE = [
    "orders.vocabulary",
    *(
        f"orders.engine.{name}"
        for name in (
            *("errors", "branches", "contracts", "effects", "fallbacks", "intakes", "results", "waits"),
            *("rows", "parking", "moving", "rehearsals", "retry_rules", "reversing", "exchanges"),
            *("runtime.age_turns", "runtime.clock", "runtime.backoff", "runtime.text"),
            *("scheduler.branching", "scheduler.progress", "scheduler.compensation", "scheduler.dispatch"),
            *("supervisor.remedies", "circuits.rules"),
        )
    ),
]
ENGINE = ("orders.engine", "orders.vocabulary", "orders.tracing", *ENGINE_MODELS)
SQL = ("orders.engine.runtime.sql", "orders.engine.runtime.statements")


@pytest.mark.pattern("C4")
def test_the_engine_knows_no_business_and_no_web() -> None:
    assert offences(within("orders.engine"), is_wrong=only(*ENGINE)) == []


@pytest.mark.pattern("C4", "V5")
def test_nothing_that_the_engine_imports_leads_to_the_business() -> None:
    reached = {target for module in within("orders.engine") for target in reach(module)}
    assert sorted(target for target in reached if only(*ENGINE)(target)) == []


def test_a_pure_module_imports_only_pure_modules() -> None:
    assert offences(PURE, is_wrong=only(*PURE)) == []


@pytest.mark.parametrize("outside", ["django", "psycopg", "aiohttp", "structlog", "asyncio", "threading"])
def test_a_pure_module_knows_neither_database_nor_network_nor_threads(outside: str) -> None:
    assert offences(PURE, is_wrong=never(outside)) == []


def test_the_decisions_of_a_pass_open_no_connection() -> None:
    """`order_pass` collects what the scheduler writes. It may name the rows of channels, and runs no statement."""
    assert (
        offences(
            ["orders.engine.scheduler.order_pass"],
            is_wrong=never("django", "psycopg", "orders.engine.runtime.sql"),
        )
        == []
    )


@pytest.mark.parametrize("role", ROLES)
def test_no_role_leads_to_another_role(role: str) -> None:
    others = [other for other in ROLES if other != role]
    reached = {target for module in within(role) for target in reach(module)}
    assert sorted(target for target in reached if is_within(target, *others)) == []


@pytest.mark.pattern("V5")
def test_the_supervisor_never_touches_a_channel_not_even_through_others() -> None:
    reached = {target for module in within("orders.engine.supervisor") for target in reach(module)}
    assert "orders.engine.state_store.writes" in reached
    assert sorted(target for target in reached if ".channels" in target) == []


@pytest.mark.parametrize("door", ["state_store", "channels"])
def test_the_state_store_and_each_channel_import_models_and_sql_only(door: str) -> None:
    own = f"orders.engine.{door}"
    assert offences(within(own), is_wrong=only(own, *PURE, *SQL, *ENGINE_MODELS, "orders.tracing")) == []


@pytest.mark.parametrize(
    "module", ["orders.engine.supervisor.leadership", "orders.engine.alerts", "orders.engine.runtime.sql"]
)
def test_leases_alerts_and_sql_know_no_role(module: str) -> None:
    assert offences([module], is_wrong=only(*PURE, *SQL, *ENGINE_MODELS)) == []


def test_models_know_only_models() -> None:
    """And how a column is encrypted."""
    rooms = ("orders.models", "orders.vocabulary", "sasweb.sealing")
    assert offences(within("orders.models"), is_wrong=only(*rooms)) == []


def test_the_tables_of_the_engine_know_no_shop() -> None:
    assert offences(ENGINE_MODELS, is_wrong=only(*ENGINE_MODELS, "orders.vocabulary")) == []
