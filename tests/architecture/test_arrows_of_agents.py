"""Who agents may import (docs/architecture.md): no database, no Django, and not one another."""

import pytest

from tests.architecture.source import imports, is_within, never, offences, only, reach, within
from tests.architecture.test_arrows import KIT, ROOMS


@pytest.mark.pattern("A1")
def test_an_agent_knows_the_contracts_and_its_transport_and_no_database() -> None:
    allowed = (*ROOMS["orders.agents"], "orders.agents")
    assert offences(within("orders.agents"), is_wrong=only(*allowed)) == []
    assert offences(within("orders.agents"), is_wrong=never("django", "psycopg")) == []
    agents = [module for module in within("orders.shop.agents") if module != "orders.shop.agents"]
    own = ("orders.shop.agents", "orders.shop.letters", "orders.fields")
    assert offences(agents, is_wrong=only(*allowed, *own)) == []
    assert offences(agents, is_wrong=never("django", "psycopg")) == []


@pytest.mark.pattern("A1")
def test_what_an_agent_writes_to_a_customer_is_written_without_the_database() -> None:
    assert not any(
        is_within(module, "orders.models", "orders.selectors") for module in reach("orders.shop.letters")
    )


def test_emails_are_written_without_django() -> None:
    assert offences(within("orders.emails"), is_wrong=never("django")) == []


@pytest.mark.pattern("A1")
def test_no_agent_knows_another_agent() -> None:
    agents = {
        imported.target
        for imported in imports("orders.shop.agents")
        if is_within(imported.target, "orders.shop.agents")
    }
    assert len(agents) >= 4
    for agent in agents:
        assert sorted(reach(agent) & (agents - {agent})) == []


def test_the_contract_of_agents_needs_no_django() -> None:
    """As agents need none. What runs orders and prepares the test database does."""
    with_database = {f"{KIT}.{name}" for name in ("running", "elapsing", "plugin")}
    contract = set(within(KIT)) - with_database
    assert len(contract) >= 8
    assert offences(contract, is_wrong=never("django")) == []
