"""Logging: one line an event to stdout, `key=value`; in colour and for the eye only on a terminal.

What Django and the libraries log through the standard library comes out in the same form.
"""

import logging
import sys
from typing import Any

import structlog

SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.UnicodeDecoder(),
]


def configure() -> None:
    """Has structlog hand its events to the standard library's logging, where `LOGGING` writes them."""
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
    """The form of a line: for a terminal, or for a file."""
    if sys.stdout.isatty():
        final: list[structlog.typing.Processor] = [structlog.dev.ConsoleRenderer()]
    else:
        final = [
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(
                key_order=["timestamp", "level", "event", "action"], drop_missing=True
            ),
        ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final],
    )


def has_exception(record: logging.LogRecord) -> bool:
    """Whether a record tells of an exception."""
    return record.exc_info is not None


def settings() -> dict[str, Any]:
    """Django's LOGGING. Of what Django logs about answers only exceptions: the rest is the clients' business."""
    plain: dict[str, Any] = {"handlers": [], "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"exceptions": {"()": "django.utils.log.CallbackFilter", "callback": has_exception}},
        "formatters": {"line": {"()": formatter}},
        "handlers": {
            "stdout": {
                "class": "logging.StreamHandler",
                "stream": "ext://sys.stdout",
                "formatter": "line",
            }
        },
        "root": {"handlers": ["stdout"], "level": "INFO"},
        "loggers": {
            "django": plain,
            "django.server": plain,
            "django.request": {**plain, "filters": ["exceptions"]},
            "psycopg.pool": {**plain, "level": "WARNING"},
        },
    }
