"""Statements in pipelines: each has its result, and after an error nothing of them is kept."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from django.db import (
    DataError,
    Error,
    IntegrityError,
    connection,
    transaction,
)

from bench.trace import Trace, Traffic
from orders.engine.runtime.sql import fetch, run
from orders.engine.runtime.statements import count_of, pipelined, pipelined_transaction, send
from tests.support.two_sessions import Session

NewSession = Callable[[], Session]

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pipeline_runs_statements_in_their_order_and_gives_each_its_result() -> None:
    with transaction.atomic(), pipelined():
        send("CREATE TEMPORARY TABLE line (n int) ON COMMIT DROP")
        added = send("INSERT INTO line SELECT generate_series(1, %s)", [3], count_of)
        numbers = send("SELECT n FROM line ORDER BY n")
        assert numbers.result() == [(1,), (2,), (3,)]
        assert added.result() == 3
        removed = send("DELETE FROM line WHERE n > %s", [1], count_of)
    assert removed.result() == 2


def test_a_result_may_be_read_after_the_pipeline() -> None:
    with transaction.atomic():
        with pipelined():
            number = send("SELECT %s::int", [7])
        assert number.result() == [(7,)]


def test_an_error_in_a_pipeline_undoes_all_of_it_and_leaves_the_connection_usable() -> None:
    """Also the error of a statement whose result nobody asks for."""
    run("CREATE TABLE IF NOT EXISTS kept (n int)")
    try:
        with pytest.raises(DataError, match="division by zero"), transaction.atomic(), pipelined():
            send("INSERT INTO kept VALUES (%s)", [1])
            send("SELECT 1 / %s::int", [0])
            send("INSERT INTO kept VALUES (%s)", [2])
        assert fetch("SELECT count(*) FROM kept") == [(0,)]
        with pytest.raises(DataError), pipelined():  # without a transaction they are one all the same
            send("INSERT INTO kept VALUES (%s)", [3])
            send("SELECT 1 / %s::int", [0])
        assert fetch("SELECT count(*) FROM kept") == [(0,)]
    finally:
        run("DROP TABLE kept")


@pytest.mark.pattern("T6")
@pytest.mark.parametrize("error", ["of the server", "of the client", "at the commit", "that is put off"])
def test_nothing_of_a_pipelined_transaction_is_kept_after_an_error(error: str) -> None:
    """The connection serves the next transaction as if nothing had been. An inner block whose error is caught has
    condemned the outer one, too."""
    run("CREATE TABLE kept (n int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
    try:
        with suppress(DataError, KeyError, IntegrityError), pipelined_transaction():
            send("INSERT INTO kept VALUES (%s)", [1])
            if error == "of the server":
                send("SELECT 1 / %s::int", [0])
            elif error == "at the commit":
                send("INSERT INTO kept VALUES (%s)", [1])
            elif error == "of the client":
                raise KeyError
            else:
                with suppress(KeyError), transaction.atomic(savepoint=False):
                    raise KeyError
        assert fetch("SELECT count(*) FROM kept") == [(0,)]
        with pipelined_transaction():
            send("INSERT INTO kept VALUES (%s)", [2])
            assert connection.in_atomic_block
        with transaction.atomic():
            send("INSERT INTO kept VALUES (%s)", [3])
            transaction.set_rollback(True)
        assert fetch("SELECT n FROM kept") == [(2,)]
        assert connection.connection.autocommit
    finally:
        run("DROP TABLE kept")


@pytest.mark.pattern("T6", "F15")
def test_a_session_that_ends_at_any_moment_of_a_pipelined_transaction_is_an_error_of_django(
    new_session: NewSession,
) -> None:
    """A role repeats its pass on such an error. Any other ends it, or passes for the fault of its orders."""
    chance, killer = random.Random(14), new_session()
    for _ in range(60):
        fetch("SELECT 1")
        ((pid,),) = fetch("SELECT pg_backend_pid()")
        ending = threading.Timer(
            chance.uniform(0, 0.003),
            killer.do,
            [lambda pid=pid: fetch("SELECT pg_terminate_backend(%s)", [pid])],
        )
        ending.start()
        session = connection.connection
        with suppress(Error):
            while (
                connection.connection is session
            ):  # an error of the client may hide that the session has ended
                with suppress(KeyError), pipelined_transaction():
                    send("SELECT %s::int", [1]).result()
                    send("SELECT pg_sleep(0.0005)")
                    if chance.random() < 0.5:
                        raise KeyError
        ending.join()
        connection.close()


def test_a_pipelined_transaction_inside_another_ends_with_it() -> None:
    run("CREATE TABLE kept (n int)")
    try:
        with transaction.atomic():
            with pipelined_transaction():
                send("INSERT INTO kept VALUES (%s)", [1])
            transaction.set_rollback(True)
        assert fetch("SELECT count(*) FROM kept") == [(0,)]
    finally:
        run("DROP TABLE kept")


def test_a_pipelined_transaction_that_asks_for_no_result_is_one_trip_to_the_server() -> None:
    with Trace() as trace:
        fetch("SELECT 1")
        trace.take()
        with pipelined_transaction():
            send("SELECT %s::int", [1])
            send("SELECT %s::int", [2])
        assert trace.take() == Traffic(statements=4, round_trips=1, transactions=1)
