"""Lives one after another: each in a fork of this process, on a copy of one migrated database."""

import json
import logging
import os
import traceback
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

import django

django.setup()

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections

from orders.models import Product
from sasweb.embedded_postgres.server import temporary_server
from tests.simulation.database import CHANGES, OPTIONS, SHADOWS
from tests.simulation.life import Life, Plan, Report
from tests.support.order_bodies import SUBMITTED


class World:
    """The server that all lives use."""

    def __enter__(self) -> "World":
        self._server = temporary_server(
            settings={"autovacuum": "off", "shared_buffers": "128MB", "max_connections": "200"}
        )
        self._url = self._server.__enter__().url
        self._prepare()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    def live(self, seed: int, *, orders: int, trace: Path | None = None) -> Report:
        """Lives one life in a child process; returns its report."""
        with psycopg.connect(self._url, autocommit=True) as session:
            session.execute("DROP DATABASE IF EXISTS life WITH (FORCE)")
            session.execute("CREATE DATABASE life TEMPLATE newborn STRATEGY file_copy")
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with os.fdopen(writer, "w") as pipe:
                try:
                    report = _live(Plan.of(seed, orders), self._url_of("life"), trace)
                except BaseException:
                    report = Report(seed, failure=traceback.format_exc())
                pipe.write(json.dumps(asdict(report)))
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return Report(**json.loads(text)) if text else Report(seed, failure="the child died")

    def _url_of(self, name: str) -> str:
        return self._url.replace("@/sasweb?", f"@/{name}?")

    def _prepare(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as session:
            session.execute("CREATE DATABASE newborn")
        url = self._url_of("newborn")
        with psycopg.connect(url, autocommit=True, options=OPTIONS) as session:
            session.execute(SHADOWS)
        _point_at(url)
        call_command("migrate", verbosity=0)
        for line in SUBMITTED["lines"]:
            Product.objects.create(sku=line["sku"], title=line["title"], price=line["unit_price"])
        connection.close()
        with psycopg.connect(url, autocommit=True, options=OPTIONS) as session:
            session.execute(CHANGES)
            session.execute("VACUUM ANALYZE")


def _point_at(url: str) -> None:
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(url)
    settings_dict = connection.settings_dict
    settings_dict.update(NAME=parts["dbname"], USER=parts["user"], HOST=parts["host"], PORT=parts["port"])
    settings_dict["OPTIONS"] = {"options": OPTIONS, "connect_timeout": 5}
    settings_dict["CONN_HEALTH_CHECKS"] = False
    connections.databases["default"].update(settings_dict)


def _live(plan: Plan, url: str, trace: Path | None) -> Report:
    _point_at(url)
    if trace is None:
        logging.disable(logging.CRITICAL)
    file = trace.open("w") if trace else None
    life = Life(plan, url=url, trace=file)
    try:
        return life.live()
    finally:
        if file:
            file.close()
