"""What stands for the database and for a browser in the tests of live pages."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.db import OperationalError

from orders.live.hub import Versions

SOON = 5.0
ONE, TWO = uuid4(), uuid4()


class Orders:
    """The database: the versions of orders, and the queries so far."""

    def __init__(self) -> None:
        self.versions = {ONE: "1", TWO: "1"}
        self.questions: list[set[UUID]] = []
        self.failures = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def read(self, order_ids: Sequence[UUID]) -> Versions:
        self.questions.append(set(order_ids))
        versions = {order_id: self.versions[order_id] for order_id in order_ids}
        assert self.may_answer.wait(SOON)
        if self.failures:
            self.failures -= 1
            raise OperationalError("the database is away")
        return versions


class Browser:
    """The other end of a stream. While `reads` is not set, it reads nothing."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.has_left = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self.messages.append(message)

    async def receive(self) -> dict[str, Any]:
        await self.has_left.wait()
        return {"type": "http.disconnect"}

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.messages).decode()


async def until_true(question: Callable[..., bool]) -> None:
    """Waits until the answer is true; the scenario's own bound ends the wait."""
    while not question():  # noqa: ASYNC110
        await asyncio.sleep(0.002)
