"""Lives, each in a fork of this process, on a server of its own with a copy of one migrated database."""

import gc
import json
import logging
import os
import select
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import django

django.setup()

import psycopg  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from psycopg.conninfo import conninfo_to_dict  # noqa: E402

from orders.shop.models import Product  # noqa: E402
from tests.simulation.database import CHANGES, OPTIONS, SHADOWS  # noqa: E402
from tests.simulation.life import Life, Plan, Report  # noqa: E402
from tests.simulation.server import running_server  # noqa: E402
from tests.support.order_bodies import SUBMITTED  # noqa: E402


class Child(NamedTuple):
    """A process that lives one life. Its report comes through the pipe."""

    seed: int
    pid: int
    pipe: int
    core: int | None


class World:
    """The database that all lives start with, and the processes that live them."""

    def __enter__(self) -> "World":
        self._folder = Path(tempfile.mkdtemp(prefix="sasweb-simulation-"))
        self._folder.chmod(0o711)  # when we are root, the servers' user has to enter it
        self._newborn = self._folder / "newborn"
        with running_server(self._newborn) as server:
            _prepare(server.url)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._newborn.resolve())
        shutil.rmtree(self._folder)

    def live(
        self, seeds: Iterable[int], *, orders: int, processes: int = 1, trace: Path | None = None
    ) -> Iterator[Report]:
        """Lives one life for each seed, some at once; yields their reports as they end.

        `trace` is the folder for the traces: SEED.txt, and SEED-2.txt if the seed comes a second time.
        """
        cores = sorted(os.sched_getaffinity(0))
        children: list[Child] = []
        begun: Counter[int] = Counter()
        for seed in seeds:
            begun[seed] += 1
            name = f"{seed}" if begun[seed] == 1 else f"{seed}-{begun[seed]}"
            file = trace and trace / f"{name}.txt"
            core = (
                min(cores, key=[child.core for child in children].count) if processes >= len(cores) else None
            )
            children.append(self._begin(Plan.of(seed, orders), self._folder / name, file, core))
            if len(children) >= processes:
                yield self._next_end(children)
        while children:
            yield self._next_end(children)

    def _begin(self, plan: Plan, home: Path, trace: Path | None, core: int | None) -> Child:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            if core is not None:  # a life and its server take turns, which is faster by a quarter on one core
                os.sched_setaffinity(0, {core})
            try:
                with running_server(home, copy_of=self._newborn) as server:
                    report = _live(plan, server.url, trace)
            except BaseException:  # noqa: BLE001 (the parent reports it)
                report = Report(plan.seed, failure=traceback.format_exc())
            with os.fdopen(writer, "w") as pipe:
                pipe.write(json.dumps(asdict(report)))
            os._exit(0)
        os.close(writer)
        return Child(plan.seed, pid, reader, core)

    def _next_end(self, children: list[Child]) -> Report:
        readable, _, _ = select.select([child.pipe for child in children], [], [])
        child = next(child for child in children if child.pipe in readable)
        with os.fdopen(child.pipe) as pipe:
            text = pipe.read()
        os.waitpid(child.pid, 0)
        children.remove(child)
        return Report(**json.loads(text)) if text else Report(child.seed, failure="its process died")


def _prepare(url: str) -> None:
    """Migrates the database that all lives start with. The clock comes first, so that defaults refer to it."""
    with psycopg.connect(url, autocommit=True, options=OPTIONS) as session:
        session.execute(SHADOWS.encode())
    _point_at(url)
    call_command("migrate", verbosity=0)
    for line in SUBMITTED["lines"]:
        Product.objects.create(sku=line["sku"], title=line["title"], price=line["unit_price"])
    connection.close()
    with psycopg.connect(url, autocommit=True, options=OPTIONS) as session:
        session.execute(CHANGES.encode())
        session.execute("VACUUM ANALYZE")


def _point_at(url: str) -> None:
    """Has Django connect there, in every thread."""
    parts = conninfo_to_dict(url)
    connection.settings_dict.update(
        NAME=parts["dbname"],
        USER=parts["user"],
        HOST=parts["host"],
        PORT=parts["port"],
        OPTIONS={"options": OPTIONS, "connect_timeout": 5},
        CONN_HEALTH_CHECKS=False,
    )


def _live(plan: Plan, url: str, trace: Path | None) -> Report:
    _point_at(url)
    gc.disable()  # saves a twentieth of the time, and a life is too short to need it
    if trace is None:
        logging.disable(logging.CRITICAL)
        return Life(plan, url=url).live()
    with trace.open("w") as file:
        return Life(plan, url=url, trace=file).live()
