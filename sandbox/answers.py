"""The answer of a service to one call."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RETRY_SOON = frozenset({409, 429, 503})
"""Statuses that ask the caller to try again, and therefore carry `Retry-After`."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer. `body` is JSON; `is_recorded` is true once the ledger holds it under the call's key."""

    status: int
    body: str
    is_recorded: bool = False
    replayed: bool = False
    refused_by_fault: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The headers sent with it; `Retry-After` is in seconds."""
        headers = {"Idempotent-Replayed": "true"} if self.replayed else {}
        if self.status in RETRY_SOON:
            headers["Retry-After"] = "1"
        return headers


def good(content: Mapping[str, Any]) -> Answer:
    """A 200 with `content`."""
    return Answer(status=200, body=json.dumps(content))


def bad(status: int, code: str, message: str, detail: Mapping[str, Any] | None = None) -> Answer:
    """An error: `code` and `detail` are for programs, `message` for people."""
    error = {"code": code, "message": message, **({"detail": detail} if detail else {})}
    return Answer(status=status, body=json.dumps({"error": error}))


class InvalidRequest(Exception):
    """Raised when a request is not a valid call. `answer` is the response."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.answer = bad(status, code, message)
