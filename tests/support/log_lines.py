"""The log's lines of a test."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sasweb import logs


class Output(logging.Handler):
    """Keeps the lines as the product writes them, in the thread that logs them."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(logs.formatter())

    def emit(self, record: logging.LogRecord) -> None:
        if logs.is_of_interest(record):
            self.lines.append(self.format(record))


@contextmanager
def written_lines() -> Iterator[list[str]]:
    """What is logged within the block."""
    output = Output()
    logging.getLogger().addHandler(output)
    try:
        yield output.lines
    finally:
        logging.getLogger().removeHandler(output)


def line(caplog: pytest.LogCaptureFixture, event: str) -> dict[str, Any]:
    """The facts of the only line about this event."""
    (facts,) = [
        record.msg
        for record in caplog.records
        if isinstance(record.msg, dict) and record.msg["event"] == event
    ]
    return facts
