"""Indexes of big tables are built while orders are processed, and a build that was interrupted is begun again."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations import AddIndex, CreateModel, Migration, RunSQL
from django.db.migrations.executor import MigrationExecutor

from orders.selectors.desk import audit_chain
from tests.support.own_database import OwnDatabase, orm_at
from tests.support.system import System
from tests.support.wait import until

TABLES = ("orders_order", "orders_orderprocess")
DROPS = "DROP INDEX CONCURRENTLY IF EXISTS "


@pytest.fixture
def earlier(database: OwnDatabase) -> Iterator[str]:
    """The url of a database on the same server, with the tables as they were before migration 0005."""
    database.act("CREATE DATABASE earlier")
    url = database.server.url.replace("/sasweb?", "/earlier?")
    with orm_at(url):
        call_command("migrate", "orders", "0004", verbosity=0)
        yield url
    database.act("DROP DATABASE earlier WITH (FORCE)")


class Migrating(threading.Thread):
    """Migrates in a thread of its own, up to a migration."""

    def __init__(self, target: str) -> None:
        super().__init__(daemon=True)
        self.error: DatabaseError | None = None
        self._target = target

    def run(self) -> None:
        try:
            call_command("migrate", "orders", self._target, verbosity=0)
        except DatabaseError as error:
            self.error = error
        finally:
            connection.close()


@pytest.mark.parametrize("first", TABLES)
def test_migrate_and_a_transaction_that_writes_orders_do_not_deadlock(earlier: str, first: str) -> None:
    """Whichever table the transaction comes to first, `migrate` waits for its end and blocks nothing meanwhile."""
    (second,) = set(TABLES) - {first}
    with psycopg.connect(earlier) as writer:
        writer.execute(f"LOCK TABLE {first} IN ROW EXCLUSIVE MODE")  # as a write does
        migration = Migrating("0005")
        migration.start()
        until(lambda: waits_for(writer.info.backend_pid), what="a migration that waits")
        writer.execute("SET lock_timeout = '20s'")
        writer.execute(f"LOCK TABLE {second} IN ROW EXCLUSIVE MODE")
    migration.join(60)
    assert not migration.is_alive()
    assert migration.error is None
    assert valid_indexes() >= {"process_by_ending", "order_by_email"}


def waits_for(pid: int) -> bool:
    """Whether a session waits for the transaction of this one."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid)))", [pid]
        )
        return bool(cursor.fetchone()[0])


def valid_indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexrelid::regclass::text FROM pg_index WHERE indisvalid")
        return {name for (name,) in cursor.fetchall()}


def index_builds() -> dict[str, tuple[Migration, Any, list[Any]]]:
    """For each index that a migration builds concurrently, and that still exists: the migration, the state of the
    models before it, and its operations."""
    loader = MigrationExecutor(connection).loader
    existing = valid_indexes()
    builds = {}
    for key in loader.graph.forwards_plan(loader.graph.leaf_nodes("orders")[0]):
        migration = loader.graph.nodes[key]
        state = loader.project_state(key, at_end=False)
        names = {name for operation in migration.operations for name in names_of(operation)}
        for name in names & existing:
            operations = [operation for operation in migration.operations if name in names_of(operation)]
            builds[name] = (migration, state, operations)
    return builds


def names_of(operation: Any) -> list[str]:
    """The names of the indexes that an operation builds, or drops to build them anew."""
    if isinstance(operation, AddIndexConcurrently):
        return [operation.index.name]
    if isinstance(operation, RunSQL):
        statements = [operation.sql] if isinstance(operation.sql, str) else operation.sql
        return [text.removeprefix(DROPS) for text in statements if text.startswith(DROPS)]
    return []


def build(migration: Migration, state: Any, operations: list[Any]) -> None:
    """Builds an index as its migration does, although it may exist."""
    for operation in operations:
        after = state.clone()
        operation.state_forwards("orders", after)
        with connection.schema_editor(atomic=migration.atomic) as editor:
            operation.database_forwards("orders", editor, state, after)
        state = after


@pytest.mark.pattern("T1")
def test_every_index_is_built_anew_while_orders_are_processed(database: OwnDatabase, tmp_path: Path) -> None:
    """Also when a build was interrupted, which leaves an index that is not valid."""
    builds = index_builds()
    assert builds.keys() >= {"order_by_email", "process_by_ending", "step_waiting_by_age"}
    system = System(tmp_path, DATABASE_URL=database.url)
    try:
        system.start_all()
        for name, how in builds.items():
            system.place(5)
            database.act(f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass")
            assert name not in valid_indexes()
            build(*how)
            assert name in valid_indexes()
        assert set(system.wait_until_ended()) == {"processed"}
        system.check()
        assert not any(process.says("deadlock") for process in system.running)
    finally:
        system.end()


def test_a_new_index_of_an_existing_table_is_built_concurrently_and_can_be_begun_again() -> None:
    """Tables are big since 0005; what creates a table may create its indexes."""
    loader = MigrationExecutor(None).loader
    for key in loader.graph.forwards_plan(loader.graph.leaf_nodes("orders")[0]):
        migration = loader.graph.nodes[key]
        if migration.name < "0015" and not migration.name.startswith("0005"):
            continue
        operations = migration.operations
        built = [operation for operation in operations if isinstance(operation, AddIndexConcurrently)]
        created = {operation.name.lower() for operation in operations if isinstance(operation, CreateModel)}
        for operation in operations:
            if isinstance(operation, AddIndex) and not isinstance(operation, AddIndexConcurrently):
                assert operation.model_name_lower in created, migration.name
        prepared = [operation for operation in operations if isinstance(operation, RunSQL)]
        dropped = {name for operation in prepared for name in names_of(operation)}
        assert {operation.index.name for operation in built} <= dropped, migration.name


def test_entries_of_the_audit_log_from_before_its_chain_are_linked_in_their_order(earlier: str) -> None:
    call_command("migrate", "orders", "0035", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO orders_auditentry (actor, ip_address, act, target, allowed, result, reason)"
            " SELECT 'olga', '', 'note', n::text, true, '', '' FROM generate_series(1, 50) AS n"
        )
    call_command("migrate", "orders", verbosity=0)
    assert (audit_chain.read_head().position, audit_chain.find_misfit(audit_chain.read_head())) == (50, None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM orders_auditlink WHERE position = entry")
        assert cursor.fetchone() == (50,)
