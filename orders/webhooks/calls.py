"""One attempt to deliver a message to a client's webhook."""

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from orders.engine.runtime.text import keepable
from sasweb import webhooks
from sasweb.mail_server import NotSentError
from sasweb.webhook_signatures import signed_headers

TIMEOUT = 15.0
"""Seconds that a receiver has for one call."""
GONE = 410
"""The status with which a receiver says that it wants no more."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """What is posted, and where. Url and secrets are those of the moment; everything else stays the same. It has no
    secrets if they cannot be read any more, and then it is not sent."""

    url: str
    message_id: str
    body: str
    signing_secrets: Sequence[bytes]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What was sent and what the receiver answered: `status` is None and `error` says why if it did not."""

    at: datetime
    seconds: float
    headers: Mapping[str, str]
    status: int | None
    answer: str
    error: str

    @property
    def is_success(self) -> bool:
        """Whether the receiver has taken the message."""
        return not self.error

    def as_json(self) -> dict[str, Any]:
        """The attempt as it is kept in a delivery's log."""
        return {
            "at": self.at.isoformat(),
            "seconds": self.seconds,
            "headers": dict(self.headers),
            "status": self.status,
            "answer": self.answer,
            "error": self.error,
        }


async def post(
    message: Message, *, seconds: float = TIMEOUT, look_up: webhooks.LookUp = socket.getaddrinfo
) -> Attempt:
    """Posts the message once. Whatever the receiver does is an attempt, and nothing is raised."""
    now = datetime.now(UTC)
    body = message.body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "sasweb",
        **signed_headers(
            message.message_id,
            body=body,
            timestamp=int(now.timestamp()),
            signing_secrets=message.signing_secrets,
        ),
    }
    status, answer, error = None, "", ""
    try:
        if not message.signing_secrets:
            raise NotSentError("the secret cannot be read any more; make a new one")
        received = await webhooks.ask(
            message.url,
            body=body,
            headers=headers,
            look_up=look_up,
            seconds=seconds,
            setting=webhooks.CLIENTS_SETTING,
        )
        status, answer = received.status, keepable(received.excerpt)
        error = webhooks.refusal_of(received, message.url)
    except NotSentError as refusal:
        error = str(refusal)
    except Exception as unexpected:  # noqa: BLE001 - the url is a stranger's, and so is the receiver
        error = f"it could not be called ({type(unexpected).__name__})"
    took = (datetime.now(UTC) - now).total_seconds()
    return Attempt(
        at=now,
        seconds=round(took, 3),
        headers=headers,
        status=status,
        answer=answer,
        error=keepable(error)[:300],
    )


def write_body(kind: str, *, at: datetime, data: Mapping[str, Any]) -> str:
    """The body of a message, as Standard Webhooks has it."""
    timestamp = f"{at.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
    return json.dumps({"type": kind, "timestamp": timestamp, "data": data}, ensure_ascii=False)
