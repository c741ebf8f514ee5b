"""What each contender's program does. It runs in the contender's own environment: only the standard library is there.

PYTHON -m bench.contenders.NAME_app ACT ADDRESS …

prepare ADDRESS                  creates its tables
fill ADDRESS BATCH N             submits N orders
work ADDRESS WORKER              does their steps, until SIGTERM
one_by_one ADDRESS BATCH N       submits an order, waits for its end, and submits the next
times ADDRESS BATCH N            waits until N orders have ended, and prints the times of each
"""

import asyncio
import json
import random
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

STEPS = ("first", "second", "third", "fourth")
PATIENCE = 900.0
"""Seconds for all orders of a batch to end."""
PAUSES = (0.02, 0.22)
"""Seconds between two single orders. They differ, so that an order meets a poll at any moment of its period."""


class Times(NamedTuple):
    """An order's times by the contender's own records, in seconds since 1970."""

    accepted: float
    started: float
    finished: float


class App(ABC):
    """A contender: orders of four steps, one after the other, that answer at once."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Creates what must be there before the first order."""

    @abstractmethod
    async def fill(self, batch: str, count: int) -> None:
        """Submits orders, each named by `order_names`."""

    @abstractmethod
    async def work(self, worker: str) -> None:
        """Does the steps of orders, until SIGTERM."""

    @abstractmethod
    async def count_ended(self, batch: str) -> int:
        """The number of a batch's orders that have ended."""

    @abstractmethod
    async def times(self, batch: str, count: int) -> list[Times]:
        """The times of each order of a batch that went through all four steps."""

    async def buy(self, batch: str) -> None:
        """Submits a batch of one order, and returns when it has ended."""
        await self.fill(batch, 1)
        await self.wait(batch, 1, pause=0.01)

    async def wait(self, batch: str, count: int, *, pause: float = 0.5) -> None:
        """Waits until so many orders of a batch have ended. Raises `TimeoutError`."""
        ends = time.monotonic() + PATIENCE
        while (ended := await self.count_ended(batch)) < count:
            if time.monotonic() > ends:
                raise TimeoutError(f"{ended} of {count} orders within {PATIENCE} s")
            await asyncio.sleep(pause)

    async def one_by_one(self, batch: str, count: int) -> None:
        """Submits orders one at a time."""
        pauses = random.Random(count)
        for number in range(count):
            await self.buy(f"{batch}-{number}")
            await asyncio.sleep(pauses.uniform(*PAUSES))


def order_names(batch: str, count: int) -> Iterator[str]:
    """The names of a batch's orders."""
    return (f"{batch}-{number}" for number in range(count))


async def until_signal() -> None:
    """Returns at SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()


async def act(app: App, words: list[str]) -> None:
    """Does what the command line says."""
    match words:
        case ["prepare"]:
            await app.prepare()
        case ["fill", batch, count]:
            await app.fill(batch, int(count))
        case ["work", worker]:
            await app.work(worker)
        case ["one_by_one", batch, count]:
            await app.one_by_one(batch, int(count))
        case ["times", batch, count]:
            await app.wait(batch, int(count))
            print(json.dumps(await app.times(batch, int(count))))
        case _:
            raise SystemExit(__doc__)


def main(kind: type[App]) -> None:
    """Runs a contender's program."""
    name, address, *words = sys.argv[1:]
    asyncio.run(act(kind(address), [name, *words]))
