"""What people see of an order that is still a submission."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog

from orders.business.intake import kind_of
from orders.business.kinds import Profile
from orders.business.own_words import NO_WORDS, OwnWords, read_words
from orders.business.reading import BadOrderError, read_moment, read_object
from orders.business.submissions import data_of
from orders.engine.contracts import Json

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A submission as its kind reads it. One that its kind cannot read has an empty profile."""

    workflow: str
    subject: str
    data: Json
    profile: Profile
    placed_at: datetime
    words: OwnWords


def read_submitted(body: object, *, placed_at: datetime, order_id: UUID) -> Submitted:
    """Reads a submission, which may be anything. `placed_at` stands in for a time that it does not have."""
    fields: Mapping[str, object] = body if isinstance(body, Mapping) else {}
    workflow, subject, profile, words = "", str(fields.get("subject") or ""), Profile(), NO_WORDS
    with suppress(BadOrderError):
        words = read_words(fields)
    with suppress(BadOrderError):
        placed_at = read_moment(fields.get("placed_at"), "placed_at")
    try:
        kind = kind_of(read_object(body, "the body"))
        workflow = kind.name
        profile = kind.profile(kind.read(data_of(fields)), placed_at=placed_at)
    except BadOrderError:
        """It says nothing of itself."""
    except Exception:
        log.exception(
            "a kind of order failed", action="read_submitted", order_id=str(order_id), workflow=workflow
        )
    return Submitted(
        workflow=workflow,
        subject=subject,
        data=data_of(fields),
        profile=profile,
        placed_at=placed_at,
        words=words,
    )
