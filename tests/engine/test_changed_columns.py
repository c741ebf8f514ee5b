"""A migration changes a column's type under running roles: they prepare their statements anew, and go on (C9, A7)."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from orders.engine.runtime.loop import Counts, Worker
from orders.engine.runtime.statements import PREPARED_AFTER
from orders.models import AgentReply, Alert
from tests.support.agents import ScriptedAgent
from tests.support.factories import make_order
from tests.support.hosts import QUICK, a_request, keys
from tests.support.roles import a_host, a_scheduler, in_thread, requested_steps, running
from tests.support.wait import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("F32")]


@contextmanager
def changed_type(table: str, column: str) -> Iterator[None]:
    """Makes an integer column larger, as a migration would, until the block ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE bigint")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE integer")
        connection.close()  # its statements, too, may have been prepared meanwhile


def is_noticed(caplog: pytest.LogCaptureFixture) -> bool:
    """Whether the server has refused a prepared statement, and a role has taken that for trouble of the database."""
    texts = [str(record.msg) for record in caplog.records]
    return any("database unavailable" in text and "cached plan" in text for text in texts)


def test_an_agent_host_goes_on_when_a_column_of_its_requests_has_changed_its_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kitchen = ScriptedAgent("kitchen")
    with running(a_host(kitchen, **QUICK)) as ended:
        for number in range(1, PREPARED_AFTER + 2):
            a_request()
            until(lambda number=number: AgentReply.objects.count() == number, what="the reply")
        with changed_type("orders_agentrequest", "attempt"):
            request = a_request()
            replies = AgentReply.objects.filter(step_id=request.step_id)
            until(lambda: ended.done() or replies.exists(), what="the last reply")
            assert replies.exists()
            assert is_noticed(caplog)
            assert keys(kitchen)[-1] == request.key


def test_a_scheduler_goes_on_and_blames_nobody_when_a_column_of_its_steps_has_changed_its_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scheduler = a_scheduler()
    errors: list[Exception] = []

    def run_once() -> Counts:
        counts = scheduler.run_once()
        errors.extend([counts.error] if counts.error else [])
        return counts

    def start_an_order() -> None:
        with transaction.atomic():  # a scheduler must not meet it without its steps
            order = make_order()
        until(lambda: requested_steps(order), what="the requests for its first steps")

    worker = Worker(name="scheduler", run_once=run_once, poll=0.02, health=scheduler.health)
    ended = in_thread(worker.run)
    try:
        for _ in range(PREPARED_AFTER + 1):
            start_an_order()
        with changed_type("orders_stepstate", "attempt"):
            start_an_order()
            worker.stop()
            ended.result(timeout=60)
    finally:
        worker.stop()
    assert is_noticed(caplog)
    assert not errors
    assert not Alert.objects.exists()
