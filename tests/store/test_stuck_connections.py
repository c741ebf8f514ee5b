"""A connection that an error at its commit has left inside a transaction is replaced, or its role would be deaf."""

from collections.abc import Callable

import pytest
from django.db import ProgrammingError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic

from orders.engine.runtime.loop import Counts, Worker
from orders.engine.runtime.sql import drop_if_stuck, fetch
from tests.support.roles import in_thread

pytestmark = pytest.mark.django_db(transaction=True)


class CrashError(Exception):
    """An error that nobody foresaw."""


def crash(*_: object) -> None:
    raise CrashError


def get_stuck(monkeypatch: pytest.MonkeyPatch, where: type, name: str) -> None:
    """Fails at a commit, with an error that is not the database's."""
    with monkeypatch.context() as patched:
        patched.setattr(where, name, crash)
        with pytest.raises((CrashError, ProgrammingError)), transaction.atomic():
            fetch("SELECT 1")


Stuck = Callable[[], None]


@pytest.fixture(
    params=[(Atomic, "__exit__"), (BaseDatabaseWrapper, "commit")], ids=["before it", "while it commits"]
)
def stuck(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stuck:
    where, name = request.param
    return lambda: get_stuck(monkeypatch, where, name)


def test_a_dropped_connection_is_followed_by_one_that_commits(stuck: Stuck) -> None:
    def work() -> None:
        stuck()
        drop_if_stuck()
        with transaction.atomic():
            fetch("SELECT pg_advisory_xact_lock(7)")
        assert connection.autocommit
        assert fetch("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7") == [(0,)]

    in_thread(work).result(timeout=60)


def test_a_connection_that_is_well_is_kept() -> None:
    def work() -> None:
        (before,) = fetch("SELECT pg_backend_pid()")
        drop_if_stuck()
        assert fetch("SELECT pg_backend_pid()") == [before]

    in_thread(work).result(timeout=60)


def test_a_worker_goes_on_with_another_connection(stuck: Stuck) -> None:
    answers = []

    def run_once() -> Counts:
        if not answers:
            stuck()
            answers.append(0)
            return Counts(busy=True, done={"failed_passes": 1}, error=CrashError())
        answers.append(fetch("SELECT 3")[0][0])
        worker.stop()
        return Counts()

    worker = Worker(name="test", run_once=run_once)
    in_thread(worker.run).result(timeout=60)
    assert answers == [0, 3]
