"""Answers together what is asked at the same moment: in a thread, with a few statements for all of it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

import structlog
from django.db import Error, connection

log = structlog.get_logger()

Question = TypeVar("Question")
Answer = TypeVar("Answer")

CROWD = 1_000
"""Questions that wait for the thread. More go to Django, which counts them by IP address."""
LONG = 0.5
"""Seconds after which the thread is taken to be stuck. What is asked then goes to Django."""
PAUSE = 5.0
"""Seconds for which everything goes to Django after the thread has failed."""


class Together(Generic[Question, Answer]):
    """What is asked of a process and waits for an answer. Used in the event loop alone.

    `answer_all` runs in the thread. It has an answer for each question, or None where Django has to answer. If it
    raises, Django answers all of them.
    """

    def __init__(
        self, answer_all: Callable[[Sequence[Question]], Sequence[Answer | None]], *, at_once: int
    ) -> None:
        self._answer_all, self._at_once = answer_all, at_once
        self._waiting: list[tuple[Question, asyncio.Future[Answer | None]]] = []
        self._work: asyncio.Task[None] | None = None
        self._began_at = 0.0
        self._pauses_until = 0.0
        self._thread = ThreadPoolExecutor(1, "together")

    async def ask(self, question: Question) -> Answer | None:
        """The answer; None if Django has to find it."""
        now = time.monotonic()
        is_stuck = self._work is not None and now > self._began_at + LONG
        if is_stuck or now < self._pauses_until or len(self._waiting) >= CROWD:
            return None
        future: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._work is None:
            self._began_at = now
            self._work = asyncio.create_task(self._answer_waiting())
        return await future

    async def _answer_waiting(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._at_once], self._waiting[self._at_once :]
            self._began_at = time.monotonic()
            questions = [question for question, _ in batch]
            answers = await asyncio.get_running_loop().run_in_executor(self._thread, self._try, questions)
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():  # whose client has left
                    future.set_result(answer)
        self._work = None

    def _try(self, questions: Sequence[Question]) -> Sequence[Answer | None]:
        """Runs in the thread, and returns its connection to the pool unless there is more to do at once."""
        answers: Sequence[Answer | None] = [None] * len(questions)
        try:
            if time.monotonic() >= self._pauses_until:
                answers = self._answer_all(questions)
        except Error:  # Django meets the same trouble, and says so
            self._pauses_until = time.monotonic() + PAUSE
        except Exception:
            log.exception("not answered together", action="request")
            self._pauses_until = time.monotonic() + PAUSE
        if not self._waiting or time.monotonic() < self._pauses_until:
            connection.close()
        return answers
