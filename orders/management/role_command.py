"""What the commands that run a role have in common."""

import itertools
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from orders import wiring
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.loop import Role, Worker, stop_on_signals
from orders.engine.runtime.sql import DATABASE_TROUBLE, log_trouble
from orders.engine.runtime.statements import prepare_statements
from orders.selectors.changes import epoch
from sasweb import database


class RoleCommand(BaseCommand):
    """A command that runs until SIGTERM or SIGINT."""

    requires_system_checks = ()

    def run_worker(self, name: str, role: Role, topic: Topic) -> None:
        """Runs passes of a role until it is stopped; a message on the topic wakes it."""
        prepare_statements()
        if not wait_for_database():
            return
        worker = Worker(name=name, run_once=role.run_once, health=role.health)
        stop_on_signals(worker.stop)
        listener = wiring.listener({topic: worker.wake.set})
        listener.start()
        worker.run()
        listener.stop()


class _Stopped(BaseException):
    """Raised by SIGTERM and SIGINT, wherever the wait for the database is."""


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Lets SIGTERM and SIGINT raise `_Stopped` until the block ends; then they have their former effect again."""

    def stop(*_: object) -> None:
        raise _Stopped

    handlers = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def wait_for_database() -> bool:
    """Waits until the database can be reached, and checks it; False if SIGTERM or SIGINT has ended the wait. Nothing is
    written before the feed of changes has an epoch of this server.

    Raises `CommandError` if the database cannot carry this software, or a pooler takes from it what is needed.
    """
    try:
        with _stopped_by_signals():
            for failures in itertools.count(1):
                try:
                    database.check(connection.get_connection_params(), listener=settings.LISTEN_PARAMETERS)
                    epoch()
                    break
                except (database.UnreachableDatabase, *DATABASE_TROUBLE) as error:
                    log_trouble(error, is_slow=False)
                    connection.close()  # it may be dead, and would stay so
                    time.sleep(full_jitter(failures, first=0.05, cap=2.0))
    except database.UnsuitableDatabase as error:
        raise CommandError(str(error)) from error
    except _Stopped:
        return False
    return True
