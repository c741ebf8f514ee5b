"""The log's lines of a test."""

from typing import Any

import pytest


def line(caplog: pytest.LogCaptureFixture, event: str) -> dict[str, Any]:
    """The facts of the only line about this event."""
    (facts,) = [
        record.msg
        for record in caplog.records
        if isinstance(record.msg, dict) and record.msg["event"] == event
    ]
    return facts
