"""The same work for stock django-q2: four tasks in a row for each order, each of which records the order's progress.

python -m bench.stock_q fill N      queues the first task of N orders
python -m bench.stock_q work        runs a cluster of two workers, until SIGTERM

This module is also its own Django settings: the ORM broker and django-q2's defaults.
"""

import os
import sys

import django

from sasweb.database import django_settings

STEPS = 4

SECRET_KEY = "not a secret: nothing is signed here"
INSTALLED_APPS = ["django.contrib.contenttypes", "django_q"]
DATABASES = {
    "default": {**django_settings(os.environ.get("DATABASE_URL", "postgresql:///")), "CONN_MAX_AGE": None}
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
Q_CLUSTER = {"name": "bench", "orm": "default", "workers": 2}


def hop(order: int, step: int) -> str:
    """Performs one step of one order, and queues the next."""
    from django.db import connection  # noqa: PLC0415 - this module is read as settings, before Django is ready
    from django_q.tasks import async_task  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE bench_order SET step = %s, began = coalesce(began, clock_timestamp()), ended = clock_timestamp()"
            " WHERE id = %s AND step = %s",
            [step, order, step - 1],
        )
    if step < STEPS:
        async_task("bench.stock_q.hop", order, step + 1)
    return "ok"


def fill(count: int) -> None:
    """Stores the orders and queues the first task of each."""
    from django.db import connection  # noqa: PLC0415
    from django_q.tasks import async_task  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bench_order")
        cursor.execute(
            "CREATE TABLE bench_order (id int PRIMARY KEY, step int, began timestamptz, ended timestamptz)"
        )
        cursor.execute("INSERT INTO bench_order SELECT n, 0 FROM generate_series(1, %s) AS n", [count])
    for order in range(1, count + 1):
        async_task("bench.stock_q.hop", order, 1)


def main() -> None:
    """Runs `fill` or `work`."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "bench.stock_q"
    django.setup()
    if sys.argv[1] == "fill":
        fill(int(sys.argv[2]))
    else:
        from django.core.management import call_command  # noqa: PLC0415

        call_command("qcluster")


if __name__ == "__main__":
    main()
