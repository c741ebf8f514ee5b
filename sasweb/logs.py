"""Logging: one line per event to stdout, as `key=value`; on a terminal coloured and laid out for people.

What Django and the libraries log through the standard library takes the same form.
"""

import logging
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import structlog
from django.db import InterfaceError, OperationalError

MOST_OF_A_KIND = 60
"""Warnings or errors of one kind that are logged in a minute."""

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that could break or overwrite a line where it is read. The formatter escapes line feeds itself."""
LINKS = re.compile(r"(/o/|/callbacks/|/account/sign-up/|/account/reset/[^/\s]+/)[^/\s\"']{16,}")
"""Paths with a secret, which opens an order or an account, or answers a call."""

ORDER = re.compile(r"/orders/([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?:/|$)")
"""The id of an order in the path of its pages and of its resources."""

SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.UnicodeDecoder(),
]


def configure() -> None:
    """Makes structlog pass its events to the standard library's logging, which writes them as `LOGGING` says."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )


def formatter() -> logging.Formatter:
    """Formats a line for a terminal or for a file, whichever stdout is."""
    if sys.stdout.isatty():
        final: list[structlog.typing.Processor] = [clean, structlog.dev.ConsoleRenderer()]
    else:
        final = [
            structlog.processors.format_exc_info,
            clean,
            structlog.processors.LogfmtRenderer(
                key_order=["timestamp", "level", "event", "action"], drop_missing=True
            ),
        ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
    )


def about(path: str) -> dict[str, str]:
    """What the lines about a request say of it: the order that its path names."""
    order = ORDER.search(path)
    return {"order_id": order[1].lower()} if order else {}


def clean(_logger: Any, _name: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """A processor that leaves out the secrets of links, and escapes control characters: nobody can forge or hide a line
    by what she sends."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", LINKS.sub(r"\1…", value))
    return event


def is_of_interest(record: logging.LogRecord) -> bool:
    """Whether to log a record. Of Django's records about answers only those about exceptions of ours are kept; the
    others are clients' mistakes, or an outage of the database, which is logged where it is answered. What it calls
    suspicious is a mistake, too: a line without a traceback says it all."""
    if record.name.startswith("django.security."):
        record.exc_info, record.exc_text = None, None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return record.name != "django.request" or (
        record.exc_info is not None
        and record.levelno >= logging.ERROR
        and not isinstance(record.exc_info[1], OperationalError | InterfaceError)
    )


class Limit(logging.Filter):
    """Passes the first warnings and errors of a kind in each minute, and then says how many it has left out.

    Nobody can fill the disk with something that fails a thousand times a second. A kind is an event of our own, or a
    place in the code of a library: its text may differ each time.
    """

    def __init__(
        self, *, most: int = MOST_OF_A_KIND, period: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._most = most
        self._period = period
        self._clock = clock
        self._lock = threading.Lock()
        self._ends = 0.0
        self._counts: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        if record.levelno < logging.WARNING:
            return True
        now, kind, left_out = self._clock(), kind_of(record), {}
        with self._lock:
            if now >= self._ends:
                left_out = {each: count - self._most for each, count in self._counts.items()}
                self._counts.clear()
                self._ends = now + self._period
            self._counts[kind] += 1
            passes = self._counts[kind] <= self._most
        for (name, event), count in left_out.items():
            if count > 0:
                logging.getLogger(name).warning("left out %d more lines like this one: %s", count, event)
        return passes


def kind_of(record: logging.LogRecord) -> tuple[str, str]:
    """The logger of a record, and its event or the place that it was logged at."""
    if isinstance(record.msg, dict):  # structlog's
        return record.name, str(record.msg.get("event"))
    return record.name, f"{record.module}.{record.funcName}:{record.lineno}"


def settings() -> dict[str, Any]:
    """Django's LOGGING."""
    plain: dict[str, Any] = {"handlers": [], "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "interest": {"()": "django.utils.log.CallbackFilter", "callback": is_of_interest},
            "limit": {"()": Limit},
        },
        "formatters": {"line": {"()": formatter}},
        "handlers": {
            "stdout": {
                "class": "logging.StreamHandler",
                "stream": "ext://sys.stdout",
                "formatter": "line",
                "filters": ["interest", "limit"],
            }
        },
        "root": {"handlers": ["stdout"], "level": "INFO"},
        "loggers": {
            "django": plain,
            "django.server": plain,
            "django.request": plain,
            "psycopg.pool": {**plain, "level": "WARNING"},
            "django-q": {**plain, "level": "WARNING"},  # 20 lines at a start, and more with each shift
        },
    }
