"""What can go wrong, and the status with which the command exits then.

TerminalError
├── UsageError      2: the command cannot be understood, or has no server or token
├── RefusedError    1: the server, or the receiver of a webhook, has said no
└── NoAnswerError   3: there was no answer for too long
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

DONE, REFUSED, WRONG_USAGE, NO_ANSWER, INTERRUPTED = 0, 1, 2, 3, 130
"""The exit statuses. REFUSED is also that of an order which has ended otherwise than it was to end."""


class TerminalError(Exception):
    """Raised when the command cannot do what it was to do. Its text is for people, and may have several lines."""

    exit_status = REFUSED


class UsageError(TerminalError):
    """Raised for a command that cannot be understood, or that has no server or token."""

    exit_status = WRONG_USAGE


class NoAnswerError(TerminalError):
    """Raised when the server has not answered for too long. Whether it did anything is not known."""

    exit_status = NO_ANSWER


class RefusedError(TerminalError):
    """Raised for an answer that is no success, and that trying again would not change. `code` is that of the problem
    and `body` the problem as it came, or both are empty. `is_repetition` says whether an earlier try had no answer, and
    may have been the one that counts."""

    is_repetition = False

    def __init__(self, text: str, *, code: str = "", body: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.body = body


ADVICE: Mapping[str, str] = {
    "cursor_expired": "Get a new cursor with `bin/sasweb changes --after latest`, then read all of your orders, "
    "then go on from that cursor.",
    "idempotency_key_reused": "Leave out --key for another order.",
    "not_authenticated": "Use a token of this server, in SASWEB_TOKEN or with --token-file.",
    "invalid_token": "Look whether the token, of SASWEB_TOKEN or --token-file, belongs to this server.",
}
"""What to do at this terminal after a problem with this code."""
COMMON = {"type", "title", "status", "detail", "instance", "code", "errors", "retryable", "request_id"}
"""The members that any problem has."""


def read_problem(body: bytes) -> Mapping[str, Any]:
    """The problem in the body of an answer; empty if it is none."""
    try:
        problem = json.loads(body)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) and "code" in problem else {}


def describe(status: int, problem: Mapping[str, Any]) -> str:
    """What an unsuccessful answer says, for people."""
    if not problem:
        return f"The server answered {status}, which is no answer of this API. Look at the url of the server."
    return "\n".join(_lines(problem))


def _lines(problem: Mapping[str, Any]) -> Iterator[str]:
    code = problem["code"]
    yield f"{problem.get('title')} ({problem.get('status')} {code})"
    errors = problem.get("errors", [])
    if not errors:
        yield f"  {problem.get('detail')}"
    for error in errors:
        place = error.get("pointer") or error.get("parameter") or error.get("header") or "the body"
        yield f"  {place}: {error.get('detail')}"
    for name in sorted(problem.keys() - COMMON):
        value = problem[name]
        members = (
            {f"{name}.{key}": each for key, each in value.items()}
            if isinstance(value, dict)
            else {name: value}
        )
        yield from (f"  {path}: {each}" for path, each in members.items())
    if code in ADVICE:
        yield f"  {ADVICE[code]}"
    if problem.get("request_id"):
        yield f"  Request {problem['request_id']}"
