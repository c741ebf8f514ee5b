"""Stock django-q2: four tasks in a row for each order, each of which records the order's progress.

This module is also its own Django settings: the ORM broker and django-q2's defaults, with two workers.
"""

import os
import sys
from typing import Any

import django

from bench.contenders.app import STEPS, App, Times, main, order_names
from sasweb.database import django_settings

SECRET_KEY = "not a secret: nothing is signed here"
INSTALLED_APPS = ["django.contrib.contenttypes", "django_q"]
DATABASES = {
    "default": {**django_settings(os.environ.get("DATABASE_URL", "postgresql:///")), "CONN_MAX_AGE": None}
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
Q_CLUSTER = {"name": "bench", "orm": "default", "workers": 2}
MODULE = "bench.contenders.django_q_app"


def hop(order: str, step: int) -> str:
    """Performs one step of one order, and queues the next."""
    from django.db import connection  # noqa: PLC0415 - this module is read as settings, before Django is ready
    from django_q.tasks import async_task  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE bench_order SET step = %s, began = coalesce(began, clock_timestamp()), ended = clock_timestamp()"
            " WHERE name = %s AND step = %s",
            [step, order, step - 1],
        )
    if step < len(STEPS):
        async_task(f"{MODULE}.hop", order, step + 1)
    return "ok"


class DjangoQ(App):
    """Its address is a database's url."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        os.environ.update(DATABASE_URL=address, DJANGO_SETTINGS_MODULE=MODULE, DJANGO_ALLOW_ASYNC_UNSAFE="1")
        django.setup()

    async def prepare(self) -> None:
        from django.core.management import call_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        self._query(
            "CREATE TABLE bench_order (name text PRIMARY KEY, step int, accepted timestamptz DEFAULT clock_timestamp(),"
            " began timestamptz, ended timestamptz)"
        )

    async def fill(self, batch: str, count: int) -> None:
        from django_q.tasks import async_task  # noqa: PLC0415

        for order in order_names(batch, count):
            self._query("INSERT INTO bench_order (name, step) VALUES (%s, 0)", order)
            async_task(f"{MODULE}.hop", order, 1)

    async def work(self, worker: str) -> None:
        # The cluster forks and handles signals itself, so it replaces this process and its event loop.
        os.execv(sys.executable, [sys.executable, "-m", "django", "qcluster"])

    async def count_ended(self, batch: str) -> int:
        return len(await self.times(batch, 0))

    async def times(self, batch: str, count: int) -> list[Times]:
        rows = self._query(
            "SELECT extract(epoch FROM accepted), extract(epoch FROM began), extract(epoch FROM ended)"
            " FROM bench_order WHERE step = %s AND name LIKE %s",
            len(STEPS),
            f"{batch}-%",
        )
        return [Times(*map(float, row)) for row in rows]

    @staticmethod
    def _query(sql: str, *parameters: str | int) -> list[tuple[Any, ...]]:
        from django.db import connection  # noqa: PLC0415

        with connection.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return cursor.fetchall() if cursor.description else []


if __name__ == "__main__":
    main(DjangoQ)
