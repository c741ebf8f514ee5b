"""What the commands that run a role have in common."""

import threading

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from orders import wiring
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.loop import Role, Worker, stop_on_signals
from orders.engine.runtime.sql import log_trouble
from sasweb import database


class RoleCommand(BaseCommand):
    """A command that runs until SIGTERM or SIGINT."""

    requires_system_checks = ()

    def run_worker(self, name: str, role: Role, topic: Topic) -> None:
        """Runs passes of a role until it is stopped; a message on the topic wakes it."""
        if not wait_for_database():
            return
        worker = Worker(name=name, run_once=role.run_once, health=role.health)
        stop_on_signals(worker.stop)
        listener = wiring.listener({topic: worker.wake.set})
        listener.start()
        worker.run()
        listener.stop()


def wait_for_database() -> bool:
    """Waits until the database can be reached, and checks it; False if SIGTERM or SIGINT has ended the wait.

    Raises `CommandError` if the database cannot carry this software, or a pooler takes from it what is needed.
    """
    stopping = threading.Event()
    stop_on_signals(stopping.set)
    failures = 0
    while not stopping.is_set():
        try:
            database.check(connection.get_connection_params(), listener=settings.LISTEN_PARAMETERS)
            return True
        except database.UnsuitableDatabase as error:
            raise CommandError(str(error)) from error
        except psycopg.OperationalError as error:
            failures += 1
            log_trouble(error, is_slow=False)
            stopping.wait(full_jitter(failures, first=0.05, cap=2.0))
    return False
