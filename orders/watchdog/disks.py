"""Disks that are nearly full, of which operators are told while the database still takes writes.

PostgreSQL tells nobody how much room its disk has. So there are two looks: at the disk of this process's own folder,
which is the database's too where `manage.py up` runs it, and at the size of the database, if `DATABASE_ROOM` says how
large it may become. What is full already is an outage (`orders.watchdog.watch.OUTAGES`).
"""

import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from orders.engine.role_health import Trouble
from orders.engine.runtime.sparing import Sparing
from orders.engine.runtime.sql import fetch
from orders.vocabulary import AlertKind
from sasweb.environment import GIGABYTE

PERIOD = 60.0
"""Seconds between two looks."""
SHARE = 100
"""The part of one process's time that the looks may take: the size of a database is that of thousands of files."""
LEAST_FREE = 0.1
"""The part of a disk that is to be free, but no more than `MOST_FREE`."""
MOST_FREE = 10 * GIGABYTE
ENOUGH = 1.2
"""How much more than that has to be free until operators are told that it is over. It goes up and down."""
CODES = frozenset({"disk_nearly_full", "database_nearly_full"})


class Room(NamedTuple):
    """How large something is, and how much of it is free, in bytes."""

    whole: float
    free: float

    def is_scarce(self, *, was_scarce: bool) -> bool:
        """Whether operators are to be told."""
        least = min(self.whole * LEAST_FREE, MOST_FREE)
        return self.free < least * (ENOUGH if was_scarce else 1)

    def __str__(self) -> str:
        return f"{max(self.free, 0) / GIGABYTE:,.1f} of {self.whole / GIGABYTE:,.1f} GB left"


class DiskWatch:
    """What one web process knows of the room that is left. `database_room` is in bytes; 0 if nobody has said."""

    def __init__(
        self, *, folder: Path, database_room: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._database_room = database_room
        self._sparing = Sparing(share=SHARE, period=PERIOD, clock=clock)
        self._troubles: list[Trouble] = []

    def look(self) -> list[Trouble]:
        """Looks, if it is time to, and returns what is nearly full. Raises database errors."""
        if self._sparing.is_due():
            with self._sparing.look():
                self._troubles = list(self._look())
        return self._troubles

    def _look(self) -> Iterator[Trouble]:
        before = {trouble.code for trouble in self._troubles}
        if self._folder.is_dir():
            usage = shutil.disk_usage(self._folder)
            room = Room(usage.total, usage.free)
            if room.is_scarce(was_scarce="disk_nearly_full" in before):
                message = f"the disk of {self._folder} on {socket.gethostname()} has {room}"
                yield Trouble(AlertKind.STALLED, "disk", "disk_nearly_full", message)
        if self._database_room:
            ((size,),) = fetch("SELECT pg_database_size(current_database())")
            room = Room(self._database_room, self._database_room - size)
            if room.is_scarce(was_scarce="database_nearly_full" in before):
                message = f"the database has {room} of DATABASE_ROOM"
                yield Trouble(AlertKind.STALLED, "database", "database_nearly_full", message)
