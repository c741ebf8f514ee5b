"""How statements reach the server: prepared, in pipelines, and with Django's errors whatever happens."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import (
    NotSupportedError,
    OperationalError,
    connection,
    transaction,
)

from orders.engine.runtime import statements
from orders.engine.runtime.sql import DATABASE_TROUBLE, fetch, fetch_frequent, is_database_trouble, run
from orders.engine.runtime.statements import array, pipelined, pipelined_transaction, send
from tests.support.two_sessions import Session

NewSession = Callable[[], Session]

pytestmark = pytest.mark.django_db(transaction=True)


def prepared() -> set[str]:
    """The statements that the server has prepared for this connection, and plans once for all parameters."""
    rows = fetch("SELECT statement FROM pg_prepared_statements WHERE generic_plans > 0")
    return {statement for (statement,) in rows}


def test_a_statement_that_comes_again_is_planned_once_for_whatever_parameters() -> None:
    for number in range(5):
        assert fetch("SELECT %s::bigint + 1", [number]) == [(number + 1,)]
    assert "SELECT $1::bigint + 1" in prepared()


def test_plans_are_made_anew_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that was empty when its statements were planned may have become large, with no new statistics."""
    run("CREATE TEMPORARY TABLE line (n int)")
    statement = "SELECT n FROM line WHERE n >= %s::int"

    def planned_rows() -> int:
        """How many rows the plan expects that the server has kept."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM pg_prepared_statements WHERE statement ~ 'FROM line'")
            ((name,),) = cursor.fetchall()
            cursor.execute(f'EXPLAIN (FORMAT JSON) EXECUTE "{name}"(0)')
            ((plans,),) = cursor.fetchall()
        plan = plans if isinstance(plans, list) else json.loads(plans)
        return int(plan[0]["Plan"]["Plan Rows"])

    for _ in range(5):
        fetch(statement, [0])
    few = planned_rows()
    run("INSERT INTO line SELECT generate_series(1, 100000)")
    fetch(statement, [0])
    assert planned_rows() == few
    monkeypatch.setattr(statements, "PLANS_LAST", 0.0)
    fetch(statement, [0])
    assert planned_rows() > 10 * few


def test_statements_without_a_pooler_are_not_prepared_if_the_setting_is_off() -> None:
    connection.ensure_connection()
    session = connection.connection
    session.prepare_threshold = None
    try:
        for number in range(5):
            assert fetch("SELECT %s::bigint + 2", [number]) == [(number + 2,)]
        assert "SELECT $1::bigint + 2" not in prepared()
    finally:
        session.prepare_threshold = statements.PREPARED_AFTER


@pytest.fixture
def web_session() -> Iterator[psycopg.Connection[Any]]:
    """The connection as the web opens it: it prepares what is frequent only."""
    connection.ensure_connection()
    session = connection.connection
    session.prepare_threshold = statements.FREQUENT_ONLY
    try:
        yield session
    finally:
        session.prepare_threshold = statements.PREPARED_AFTER


@pytest.mark.parametrize("module", ["asgi", "wsgi"])
@pytest.mark.parametrize(("setting", "threshold"), [("on", statements.FREQUENT_ONLY), ("off", None)])
def test_the_web_opens_its_connections_so_unless_the_setting_is_off(
    module: str, setting: str, threshold: int | None
) -> None:
    code = f"""
import sasweb.{module}
from django.db import connection
print(connection.settings_dict["OPTIONS"].get("prepare_threshold"))
"""
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PREPARED_STATEMENTS": setting},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ended.stdout.split() == [str(threshold)]


@pytest.mark.usefixtures("web_session")
def test_the_web_prepares_what_is_frequent_and_nothing_else() -> None:
    for number in range(8):
        assert fetch("SELECT %s::bigint + 3", [number]) == [(number + 3,)]
        assert fetch_frequent("SELECT %s::bigint + 4", [number]) == [(number + 4,)]
    assert {"SELECT $1::bigint + 3", "SELECT $1::bigint + 4"} & prepared() == {"SELECT $1::bigint + 4"}


@pytest.mark.usefixtures("web_session")
def test_a_frequent_statement_reads_what_any_other_does() -> None:
    statement = """
        SELECT now(), %s::uuid, %s::jsonb, ARRAY['a', NULL], %s::text[], NULL, 1.5::float8, true, 'x'::varchar(5)
    """
    parameters = [uuid4(), '{"a": [1, "há"]}', ["b", "c"]]
    with transaction.atomic():  # one time
        assert fetch_frequent(statement, parameters) == fetch(statement, parameters)


def test_plans_of_frequent_statements_are_made_anew_after_a_while(
    web_session: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE TEMPORARY TABLE queue (n int)")
    statement = "SELECT n FROM queue WHERE n >= %s::int AND n < 0"
    executions = iter(range(100))

    def plans() -> int:
        fetch_frequent(statement, [next(executions)])
        rows = fetch(
            "SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE statement ~ 'FROM queue'"
        )
        return int(rows[0][0])

    discarded: list[str] = []
    execute = web_session.execute
    monkeypatch.setattr(web_session, "execute", lambda text: (discarded.append(text), execute(text)))
    monkeypatch.setitem(statements._plans_end, web_session, float("inf"))
    before = plans()
    assert (plans() - before, discarded) == (1, [])
    monkeypatch.setitem(statements._plans_end, web_session, 0.0)
    plans()
    plans()
    assert discarded == ["DISCARD PLANS"]


def test_a_frequent_statement_goes_on_after_a_column_has_changed_its_type(
    web_session: psycopg.Connection[Any],
) -> None:
    run("CREATE TEMPORARY TABLE shelf (name varchar(5))")
    run("INSERT INTO shelf VALUES ('a')")
    assert fetch_frequent("SELECT name FROM shelf WHERE name = %s::text", ["a"]) == [("a",)]
    run("DO 'BEGIN ALTER TABLE shelf ALTER name TYPE varchar(9); END'")  # so that psycopg does not notice
    with pytest.raises(NotSupportedError), transaction.atomic():
        fetch_frequent("SELECT name FROM shelf WHERE name = %s::text", ["a"])
    web_session.prepare_threshold = statements.FREQUENT_ONLY
    for _ in range(2):
        assert fetch_frequent("SELECT name FROM shelf WHERE name = %s::text", ["a"]) == [("a",)]


@pytest.mark.parametrize("where", ["a statement", "new plans", "a pipeline", "a pipelined transaction"])
def test_a_lost_connection_is_an_error_of_django_wherever_it_is_noticed(
    where: str, new_session: NewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A role repeats its pass on such an error; any other ends it."""
    session, other = new_session(), new_session()
    ((pid,),) = session.do(lambda: fetch("SELECT pg_backend_pid()"))

    def act() -> object:
        if where == "new plans":
            monkeypatch.setattr(statements, "PLANS_LAST", 0.0)
        if "pipeline" not in where:
            return fetch("SELECT %s::int", [1])
        with pipelined() if where == "a pipeline" else pipelined_transaction():
            send("SELECT %s::int", [1])
            return send("SELECT %s::int", [2]).result()

    other.do(lambda: fetch("SELECT pg_terminate_backend(%s)", [pid]))
    with pytest.raises(OperationalError):
        session.do(act)


@pytest.fixture
def numbers() -> Iterator[str]:
    """A statement that reads a table which a migration may change."""
    run("CREATE TABLE numbers (n int)")
    yield "SELECT n FROM numbers WHERE n >= %s::int"
    run("DROP TABLE numbers")


@pytest.mark.parametrize(
    "where",
    ["a statement", "a watched statement", "a result in a pipeline", "the end of a pipeline", "a commit"],
)
def test_a_statement_prepared_before_a_column_changed_its_type_is_trouble_that_a_new_connection_ends(
    where: str, new_session: NewSession, numbers: str
) -> None:
    """A role repeats its work on another connection, which prepares its statements anew."""
    session = new_session()

    def act() -> object:
        if where == "a statement":
            return fetch(numbers, [0])
        if where == "a watched statement":
            with connection.execute_wrapper(lambda execute, *call: execute(*call)):
                return fetch(numbers, [0])
        with pipelined_transaction() if where == "a commit" else pipelined():
            sent = send(numbers, [0])
            return sent.result() if where == "a result in a pipeline" else None

    for _ in range(statements.PREPARED_AFTER + 1):
        session.do(act)
    run("ALTER TABLE numbers ALTER COLUMN n TYPE bigint")
    with pytest.raises(DATABASE_TROUBLE, match="cached plan") as refusal:
        session.do(act)
    assert is_database_trouble(refusal.value)
    session.do(lambda: connection.close())
    session.do(act)


def test_what_the_server_does_not_support_is_no_trouble_of_the_database() -> None:
    """It has the same SQLSTATE, but comes again on every connection."""
    with pytest.raises(NotSupportedError, match="not allowed") as refusal:
        fetch("SELECT DISTINCT n FROM generate_series(1, 2) AS n FOR UPDATE")
    assert not is_database_trouble(refusal.value)
    assert not is_database_trouble(NotSupportedError("an error of Django's own"))


def test_an_array_reads_back_as_what_it_was_made_of() -> None:
    assert fetch("SELECT %s::bigint[]", [array([3, 2**40])]) == [([3, 2**40],)]
    assert fetch("SELECT %s::bigint[]", [array([])]) == [([],)]


def test_no_connection_has_its_statements_compiled() -> None:
    """PostgreSQL 17 adds so much to the cost of a sort when sorts are off that it would compile every claim."""
    assert fetch("SHOW jit") == [("off",)]
