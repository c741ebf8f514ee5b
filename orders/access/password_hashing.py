"""Argon2id with the parameters that OWASP recommends, a few computations at a time in each process.

One computation takes 19 MiB and tens of milliseconds of a processor. Without a limit, as many run at once as there are
threads, and a flood of sign-ins takes the memory and the processors from everybody. So a process computes `AT_ONCE`,
lets `WAITING` wait for `PATIENCE` at most, and refuses the rest. Whoever waits holds no connection to the database.

Source: OWASP Password Storage Cheat Sheet (Argon2id: m=19456, t=2, p=1).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connection

AT_ONCE = 1
WAITING = 8
PATIENCE = 5.0
"""Seconds that a request waits for its turn."""
RETRY_AFTER = 5
"""Seconds after which whoever was refused should try again."""


class HashingBusyError(Exception):
    """Raised when a password cannot be hashed now, because too many others are being hashed."""


class Turns:
    """Lets `at_once` threads through at a time, while `waiting` more wait for `patience` seconds at most."""

    def __init__(self, *, at_once: int, waiting: int, patience: float) -> None:
        self._most = at_once + waiting
        self._taken = 0
        self._counting = threading.Lock()
        self._turns = threading.BoundedSemaphore(at_once)
        self._patience = patience

    @property
    def places_left(self) -> int:
        """How many more threads would not be refused at once."""
        return self._most - self._taken

    @contextmanager
    def take(self) -> Iterator[None]:
        """Waits for a turn and holds it. Raises `HashingBusyError`."""
        with self._counting:
            if self._taken >= self._most:
                raise HashingBusyError("too many passwords are being checked")
            self._taken += 1
        try:
            if not self._turns.acquire(timeout=self._patience):
                raise HashingBusyError("checking other passwords takes too long")
            try:
                yield
            finally:
                self._turns.release()
        finally:
            with self._counting:
                self._taken -= 1


TURNS = Turns(at_once=AT_ONCE, waiting=WAITING, patience=PATIENCE)


class PasswordHasher(Argon2PasswordHasher):
    """Django's Argon2 hasher, with other parameters and in turns. A password that was hashed with other parameters is
    hashed anew when its owner signs in."""

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        """Hashes a password. Raises `HashingBusyError`."""
        with _turn():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        """Whether this is the password. Raises `HashingBusyError`."""
        with _turn():
            return super().verify(password, encoded)


@contextmanager
def _turn() -> Iterator[None]:
    """A turn, without a connection from the pool, which others need meanwhile. A transaction keeps its connection."""
    if not connection.in_atomic_block:
        connection.close()
    with TURNS.take():
        yield
