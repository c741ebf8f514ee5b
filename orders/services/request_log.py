"""The log of clients' requests. Requests are noted in memory, and a thread of the web process writes them each second.

So no request waits for its line in the log. A process that is killed loses what it has not written. When there is more
than a process can write, of one account or in all, it leaves lines out and says in its own log how many.
"""

import json
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog
from django.db import connection

from orders.engine.runtime.sql import DATABASE_TROUBLE, run
from orders.engine.runtime.text import first_line

log = structlog.get_logger()

PERIOD = 1.0
"""Seconds between two writes."""
MOST = 10_000
"""Requests that wait to be written, in one process."""
SHARE = 1_000
"""Requests of one account among them."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """What is logged of a request. It has no body, no query and no token."""

    request_id: str
    customer_id: int
    at: datetime
    method: str
    path: str
    status: int
    code: str
    order_ids: Sequence[UUID]
    token: str
    milliseconds: int


class RequestLog:
    """The requests of one process that are not yet written. Any thread may note one."""

    def __init__(self, *, most: int = MOST, share: int = SHARE) -> None:
        self._most, self._share = most, share
        self._lock = threading.Lock()
        self._lines: list[Line] = []
        self._of_account: Counter[int] = Counter()
        self._left_out = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def note(self, line: Line) -> None:
        """Keeps a line to be written, if there is room."""
        with self._lock:
            if len(self._lines) >= self._most or self._of_account[line.customer_id] >= self._share:
                self._left_out += 1
            else:
                self._lines.append(line)
                self._of_account[line.customer_id] += 1

    def write(self) -> int:
        """Writes what is noted, in one statement, and returns how many lines.

        Raises what the database raises. After trouble with the database they are kept for the next time, and left out
        if they cannot be written at all.
        """
        with self._lock:
            lines, left_out = self._lines[:], self._left_out
            self._left_out = 0
        if left_out:
            log.warning("requests not logged", action="log_requests", requests=left_out)
        if lines:
            try:
                run(INSERT, [json.dumps([_row(line) for line in lines])])
            except DATABASE_TROUBLE:
                raise
            except Exception:
                self._forget(lines)
                raise
            self._forget(lines)
        return len(lines)

    def _forget(self, lines: Sequence[Line]) -> None:
        with self._lock:
            del self._lines[: len(lines)]
            self._of_account.subtract(line.customer_id for line in lines)
            self._of_account = +self._of_account

    def start(self) -> None:
        """Starts the thread that writes, in a web process."""
        self._thread = threading.Thread(target=self._write_each_second, name="request log", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Writes what is left and ends the thread. Returns when that is done, or after five seconds."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5 * PERIOD)

    def _write_each_second(self) -> None:
        while not self._stop.wait(PERIOD):
            self._try_to_write()
        self._try_to_write()

    def _try_to_write(self) -> None:
        try:
            self.write()
        except DATABASE_TROUBLE as error:
            log.warning("requests not yet logged", action="log_requests", error=first_line(error))
        except Exception:
            log.exception("requests not logged", action="log_requests")
        finally:
            connection.close()


REQUESTS = RequestLog()
"""The log of this process."""

INSERT = """
    INSERT INTO orders_loggedrequest (request_id, customer_id, at, method, path, status, code, order_ids, token,
                                      milliseconds)
    SELECT request_id, customer_id, at, method, path, status, code, order_ids, token, milliseconds
      FROM json_to_recordset(%s::json)
        AS line (request_id text, customer_id bigint, at timestamptz, method text, path text, status smallint,
                 code text, order_ids uuid[], token text, milliseconds integer)
"""


def _row(line: Line) -> dict[str, object]:
    return {
        **vars(line),
        "at": line.at.isoformat(),
        "order_ids": [str(order_id) for order_id in line.order_ids],
    }
