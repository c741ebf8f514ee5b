"""Argon2id with the parameters that OWASP recommends, in one thread of each process.

One computation takes 19 MiB and tens of milliseconds of a processor. Without a limit, as many run at once as there are
threads, and a flood of sign-ins takes the memory and the processors from everybody. So one thread computes, `WAITING`
requests wait for `PATIENCE` at most, and the rest are refused. Whoever waits holds no connection to the database. The
thread is always the same, because the C library keeps the memory that a thread has used for that thread alone. Pages
with passwords let few requests come here at a time (`sasweb.asgi`); the bounds are for everything else.

Source: OWASP Password Storage Cheat Sheet (Argon2id: m=19456, t=2, p=1).
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connection

T = TypeVar("T")

WAITING = 8
PATIENCE = 5.0
"""Seconds that a request waits for its turn."""
RETRY_AFTER = 5
"""Seconds after which whoever was refused should try again."""


class HashingBusyError(Exception):
    """Raised when a password cannot be hashed now, because too many others are being hashed."""


class HashingThread:
    """A thread that hashes, while `waiting` requests wait for `patience` seconds at most."""

    def __init__(self, *, waiting: int, patience: float) -> None:
        self._places = threading.BoundedSemaphore(1 + waiting)
        self._patience = patience
        self.renew()

    def renew(self) -> None:
        """Starts afresh: a fork has no threads but the one that forked."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hashing")

    def run(self, work: Callable[[], T]) -> T:
        """Does the work when its turn has come, and returns its result. Raises `HashingBusyError`."""
        if not self._places.acquire(blocking=False):
            raise HashingBusyError("too many passwords are being checked")
        try:
            turn = self._thread.submit(work)
            try:
                return turn.result(self._patience)
            except TimeoutError:
                if turn.cancel():
                    raise HashingBusyError("checking other passwords takes too long") from None
                return turn.result()
        finally:
            self._places.release()


HASHING = HashingThread(waiting=WAITING, patience=PATIENCE)
os.register_at_fork(after_in_child=HASHING.renew)


class PasswordHasher(Argon2PasswordHasher):
    """Django's Argon2 hasher, with other parameters and in one thread. A password that was hashed with other parameters
    is hashed anew when its owner signs in."""

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        """Hashes a password. Raises `HashingBusyError`."""
        return _run(partial(super().encode, password, salt))

    def verify(self, password: str, encoded: str) -> bool:
        """Whether this is the password. Raises `HashingBusyError`."""
        return _run(partial(super().verify, password, encoded))


def _run(work: Callable[[], T]) -> T:
    """Does the work in its turn, without a connection from the pool, which others need meanwhile. A transaction keeps
    its connection."""
    if not connection.in_atomic_block:
        connection.close()
    return HASHING.run(work)
