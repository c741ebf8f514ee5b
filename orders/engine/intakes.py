"""What the engine and the intake of a business agree on: submissions, and what becomes of them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias
from uuid import UUID

from orders.engine.contracts import Json, Workflow
from orders.vocabulary import Goal

_CUSTOMER = re.compile("user:([0-9]{1,10})")
_LARGEST_KEY = 2**31 - 1
"""The largest key of an account. A larger number would be an error in the database, not just an unknown account."""


def customer_of(client: str) -> int | None:
    """The key in `user:<key>`, the client of a submission by an account; None for other clients."""
    match = _CUSTOMER.fullmatch(client)
    key = int(match[1]) if match else None
    return key if key is not None and key <= _LARGEST_KEY else None


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A submission message as the intake sees it (S1). Its `goal` is to be compensated if it was cancelled already."""

    order_id: UUID
    client: str
    body: Json
    posted_at: datetime
    goal: Goal = Goal.COMPLETE


@dataclass(frozen=True, kw_only=True)
class AcceptedOrder:
    """An order that the intake has inserted, and the workflow that it goes through."""

    submission: Submission
    workflow: Workflow
    priority: int
    reply_to: str
    description: Json


NOT_INSERTED = "inserting it failed"
"""How the reason begins when an unexpected error stopped a submission. The rest of it is for operators only."""


@dataclass(frozen=True, kw_only=True)
class RejectedSubmission:
    """A submission that can never be inserted, and the reason, in words for an operator."""

    submission: Submission
    reason: str


def public_reason(reason: str) -> str:
    """The part of a reason that the client who submitted the order may read."""
    return NOT_INSERTED if reason.startswith(NOT_INSERTED) else reason


@dataclass(frozen=True, kw_only=True)
class ClosedOrder:
    """An order that was cancelled before it was inserted, and could not be: it has no steps, and has ended.

    `workflow` is None if its submission names none that the intake knows.
    """

    submission: Submission
    workflow: Workflow | None
    priority: int
    reply_to: str


@dataclass(frozen=True, kw_only=True)
class DuplicateSubmission:
    """A submission whose order exists already. The message came twice, and the second copy changes nothing (S3)."""

    submission: Submission


@dataclass(frozen=True, kw_only=True)
class FailedSubmission:
    """A submission at which the code of its own kind of order failed. `workflow` is the name that it is taken by."""

    submission: Submission
    workflow: str
    error: Exception


IntakeAnswer: TypeAlias = AcceptedOrder | DuplicateSubmission | FailedSubmission | RejectedSubmission


class Intake(Protocol):
    """Validates submissions and inserts their orders, inside the caller's transaction (S2)."""

    @property
    def newest(self) -> Mapping[str, Workflow]:
        """The workflow that new orders take, by the name in their submissions."""

    @property
    def unnamed(self) -> str:
        """The name that a submission stands for that has none."""

    def __call__(self, submissions: Sequence[Submission]) -> Sequence[IntakeAnswer]:
        """Answers each submission, in the order given."""

    def close(self, submissions: Sequence[Submission]) -> Sequence[ClosedOrder]:
        """Keeps orders that were cancelled and cannot be inserted, with what can be read of them.

        None of them is there yet. Whatever a submission holds, it is kept.
        """
