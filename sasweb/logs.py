"""Logging: one line per event to stdout, as `key=value`; on a terminal coloured and laid out for people.

What Django and the libraries log through the standard library takes the same form.
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
    """Whether a record carries an exception."""
    return record.exc_info is not None


def settings() -> dict[str, Any]:
    """Django's LOGGING. Of Django's records about responses only exceptions are kept; the others are clients'
    mistakes."""
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
