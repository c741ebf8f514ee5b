"""What the simulation does to the sessions at the server, by the process ids of their backends."""

import os
import signal
from typing import Any

import psycopg

from tests.simulation.kernel import Violation

CIRCLE = """
WITH RECURSIVE wait AS (
    SELECT waiting.pid, holding.pid AS holder
      FROM pg_locks AS waiting
      JOIN pg_locks AS holding
        ON holding.granted AND holding.pid = ANY(pg_blocking_pids(waiting.pid))
       AND (holding.locktype, holding.database, holding.relation, holding.page, holding.tuple, holding.virtualxid,
            holding.transactionid, holding.classid, holding.objid, holding.objsubid)
           IS NOT DISTINCT FROM
           (waiting.locktype, waiting.database, waiting.relation, waiting.page, waiting.tuple, waiting.virtualxid,
            waiting.transactionid, waiting.classid, waiting.objid, waiting.objsubid)
     WHERE NOT waiting.granted
), chain AS (
    SELECT holder, ARRAY[pid, holder] AS pids FROM wait WHERE pid = %(pid)s
    UNION ALL
    SELECT wait.holder, pids || wait.holder
      FROM chain JOIN wait ON wait.pid = chain.holder
     WHERE chain.holder <> %(pid)s AND wait.holder <> ALL(pids[2:])
)
SELECT query
  FROM pg_stat_activity
 WHERE pid IN (SELECT unnest(pids) FROM chain WHERE holder = %(pid)s)
"""
"""The statements of the sessions that wait for one another in a circle which one session is part of."""


class Sessions:
    """Ends sessions, and halts those that wait for locks: once they get them, they would run beside others."""

    def __init__(self, monitor: psycopg.Connection[Any]) -> None:
        self._monitor = monitor
        self._halted: set[int] = set()

    def end(self, backend: int) -> None:
        """Ends a session, which rolls its transaction back."""
        self._monitor.execute("SELECT pg_terminate_backend(%s)", [backend])
        self.resume(backend)
        self.wait_for_the_end_of(backend)

    def wait_for_the_end_of(self, backend: int) -> None:
        """Returns when the server has ended the session, which it does a moment after the connection is closed."""
        while self._monitor.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [backend]).fetchone():
            pass

    def waits_for_lock(self, backend: int) -> bool:
        """Whether the session waits for a lock."""
        query = "SELECT 1 FROM pg_locks WHERE pid = %s AND NOT granted"
        return self._monitor.execute(query, [backend]).fetchone() is not None

    def halt(self, backend: int) -> None:
        """Stops a session that waits for a lock. Raises `Violation` if it waits in a circle."""
        self._halted.add(backend)
        os.kill(backend, signal.SIGSTOP)
        circle = self._monitor.execute(CIRCLE, {"pid": backend}).fetchall()
        if circle:
            raise Violation("rule 12: a deadlock of\n" + "\n".join(query for (query,) in circle))

    def halt_log_writer(self) -> None:
        """Stops the process that writes the log of commits which do not wait for it, as it does by the real clock.

        Their rows are not marked as committed until the log is written, by the next commit that does wait. Whatever
        finds them unmarked leaves their page as it is, and then later rows go elsewhere than in another life.
        """
        query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
        for (pid,) in self._monitor.execute(query):
            self._halted.add(pid)
            os.kill(pid, signal.SIGSTOP)

    def resume(self, backend: int) -> None:
        """Has a session go on, if it was halted."""
        if backend in self._halted:
            self._halted.remove(backend)
            os.kill(backend, signal.SIGCONT)

    def resume_all(self) -> None:
        """Has all sessions go on, so that the server can end them."""
        for backend in self._halted:
            os.kill(backend, signal.SIGCONT)
