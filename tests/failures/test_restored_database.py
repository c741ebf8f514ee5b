"""The database is restored to a moment before orders existed, and the orders are placed again with their keys (F35).

The restore is real: a copy of the whole database, made at that moment, takes its place.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from django.db import connection
from django.db.models import F

from orders.engine.state_store.feed import epoch
from orders.models import Event, OrderProcess, SubmissionKey
from orders.shop.models import Product
from orders.shop.placing import place_order
from tests.support.factories import new_order
from tests.support.own_database import OwnDatabase
from tests.support.system import System

KEYS = ("order-1", "order-2")
EFFECTS = {"reserve", "authorise", "create", "capture"}


@pytest.fixture
def system(database: OwnDatabase, tmp_path: Path) -> Iterator[System]:
    """The system with a running sandbox and no role yet, and a backup of its database."""
    system = System(tmp_path, DATABASE_URL=database.url)
    connection.close()
    administer(database, "CREATE DATABASE backup TEMPLATE sasweb")
    yield system
    system.end()
    restore(database)
    administer(database, "DROP DATABASE backup")


def administer(database: OwnDatabase, statement: str) -> None:
    """Runs a statement in another database of the server."""
    with psycopg.connect(database.server.url.replace("/sasweb?", "/postgres?"), autocommit=True) as session:
        session.execute(statement.encode())


def restore(database: OwnDatabase) -> None:
    """Puts a copy of the backup in the place of the database."""
    connection.close()
    administer(database, "DROP DATABASE sasweb WITH (FORCE)")
    administer(database, "CREATE DATABASE sasweb TEMPLATE backup")


def place_with_keys(system: System) -> list[UUID]:
    """Places one order for each key, as a client does that keeps its keys."""
    order = new_order(system.sku)
    return [place_order(client="guest", order=order, idempotency_key=key).order_id for key in KEYS]


def process(system: System) -> list[str]:
    """Runs every role until all orders have ended, and stops the roles; returns the orders' states."""
    roles = system.start_all()
    states = system.wait_until_ended()
    system.check()
    for role in roles.values():
        role.end()
    return states


def lose_processed_orders(system: System, database: OwnDatabase) -> dict[UUID, list[str]]:
    """Places orders, runs them until they are processed, and restores the database; returns their effects."""
    placed = place_with_keys(system)
    system.acknowledged += placed
    assert process(system) == ["processed"] * len(KEYS)
    effects = {order_id: system.effects(order_id) for order_id in placed}
    assert [set(operations) for operations in effects.values()] == [EFFECTS] * len(KEYS)
    restore(database)
    assert not any(table.objects.exists() for table in (OrderProcess, SubmissionKey, Event))
    return effects


@pytest.mark.pattern("S3", "A3", "F35")
def test_lost_orders_that_are_placed_again_with_their_keys_have_each_effect_once(
    system: System, database: OwnDatabase
) -> None:
    effects = lose_processed_orders(system, database)
    assert place_with_keys(system) == list(effects)
    assert process(system) == ["processed"] * len(KEYS)
    assert {order_id: system.effects(order_id) for order_id in effects} == effects
    assert {entry["order_id"] for entry in system.ledger("payments")} == set(map(str, effects))


@pytest.mark.pattern("A3", "F35")
def test_lost_orders_that_are_placed_again_at_another_price_have_no_effect_twice(
    system: System, database: OwnDatabase
) -> None:
    """The gateway has seen their keys with another amount. It is asked, and answers what it did."""
    effects = lose_processed_orders(system, database)
    charges = system.ledger("payments")
    Product.objects.update(price=F("price") + 100)
    assert place_with_keys(system) == list(effects)
    assert process(system) == ["processed"] * len(KEYS)
    assert {order_id: system.effects(order_id) for order_id in effects} == effects
    assert system.ledger("payments") == charges


def test_a_restored_database_begins_another_epoch_of_the_feed(system: System, database: OwnDatabase) -> None:
    """Also on the server where it was, whose transactions go on from the numbers that they had."""
    before = epoch()
    assert epoch() == before
    administer(database, "DROP DATABASE backup")
    connection.close()
    administer(database, "CREATE DATABASE backup TEMPLATE sasweb")
    restore(database)
    after = epoch()
    assert (after.number, after == epoch()) == (before.number + 1, True)
