"""Lines of the log of clients' requests, and a log that a test has to itself."""

from typing import Any

import pytest
from django.utils import timezone

from orders.api import request_log
from orders.services.request_log import Line, RequestLog
from tests.web.helpers import ORDERS


@pytest.fixture(autouse=True)
def log(monkeypatch: pytest.MonkeyPatch) -> RequestLog:
    """The log of this test alone, which writes when it is told to."""
    own = RequestLog()
    monkeypatch.setattr(request_log, "REQUESTS", own)
    return own


def line(**changes: Any) -> Line:
    values: dict[str, Any] = {
        **{
            "request_id": "request-1",
            "customer_id": 1,
            "at": timezone.now(),
            "method": "POST",
            "path": ORDERS,
        },
        **{"status": 202, "code": "", "order_ids": [], "token": "sas_abcdef", "milliseconds": 7},
    }
    return Line(**values | changes)
