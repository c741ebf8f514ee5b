"""The trace of what is sent to the database counts every statement, round trip and transaction."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection, transaction

from bench.trace import Trace, Traffic
from orders.engine.runtime.sql import fetch
from tests.support.roles import in_thread

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def trace() -> Iterator[Trace]:
    with Trace() as trace:
        connection.ensure_connection()
        assert trace.take() == Traffic(0, 0, 0), "setting up a connection does not count"
        yield trace


def test_a_statement_on_its_own_is_a_transaction(trace: Trace) -> None:
    fetch("SELECT 1")
    fetch("SELECT\n2")
    assert trace.take() == Traffic(statements=2, round_trips=2, transactions=2)
    assert trace.take() == Traffic(0, 0, 0)


def test_the_begin_and_the_commit_of_a_transaction_are_statements(trace: Trace) -> None:
    with transaction.atomic():
        fetch("SELECT 1")
        fetch("SELECT %s", [2])
    assert trace.take() == Traffic(statements=4, round_trips=4, transactions=1)


def test_a_transaction_that_was_rolled_back_counts(trace: Trace) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        fetch("SELECT 1 / 0")
    assert trace.take() == Traffic(statements=3, round_trips=3, transactions=1)


def test_the_statements_of_a_pipeline_are_all_counted_and_share_round_trips(trace: Trace) -> None:
    server = connection.connection
    with server.pipeline(), server.transaction():
        cursors = [server.execute("SELECT %s::int", [number]) for number in range(10)]
    assert [cursor.fetchone() for cursor in cursors] == [(number,) for number in range(10)]
    statements, round_trips, transactions = trace.take()
    assert (statements, transactions) == (12, 1)
    assert round_trips <= 4, "psycopg waits for BEGIN, the ten together, COMMIT, and the end of the pipeline"


def test_several_transactions_in_a_pipeline_are_all_counted(trace: Trace) -> None:
    server = connection.connection
    with server.pipeline():
        for _ in range(3):
            with server.transaction():
                server.execute("SELECT 1")
    statements, _, transactions = trace.take()
    assert (statements, transactions) == (9, 3)


def test_connections_that_threads_open_at_the_same_time_are_counted_once_each(trace: Trace) -> None:
    threads = [in_thread(lambda: fetch("SELECT 1")) for _ in range(20)]
    for thread in threads:
        thread.result(timeout=60)
    assert trace.take() == Traffic(statements=20, round_trips=20, transactions=20)
