"""What remote services send when they answer a call later, and the problem with which an answer is refused."""

from rest_framework import serializers

from orders.api.fields import Prose, Strict, Text
from orders.api.problems import ProblemError, invalid, pointed
from orders.services.answers import (
    LONGEST_NOTE,
    AlreadyAnsweredError,
    AnswerError,
    AnswerTooLargeError,
    BadAnswerError,
    IncompleteResultError,
    NothingWaitsError,
    TooLateError,
)

CODES: dict[type[AnswerError], str] = {
    AlreadyAnsweredError: "already_answered",
    NothingWaitsError: "not_found",
    TooLateError: "too_late",
    AnswerTooLargeError: "body_too_large",
}
"""The first kind that matches."""


class ErrorIn(Strict):
    """Why the remote service refuses."""

    code = Text(max_length=60)
    message = Prose(max_length=LONGEST_NOTE, default="")


class ResultIn(Strict):
    """What a remote service has done, as a JSON object with the fields that the workflow declares."""

    result = serializers.DictField()


class RefusalIn(Strict):
    """Why a remote service has not done it, and never will."""

    error = ErrorIn()


class AnswerIn(Strict):
    """Either a result or an error."""

    result = serializers.DictField(required=False)
    error = ErrorIn(required=False)


def problem_of(refusal: AnswerError) -> ProblemError:
    """The problem with which this answer is refused."""
    if isinstance(refusal, IncompleteResultError):
        gaps = {name: f"This {gap}." for name, gap in refusal.gaps.items()}
        return ProblemError("validation_failed", str(refusal), errors=list(pointed({"result": gaps})))
    code = next((code for kind, code in CODES.items() if isinstance(refusal, kind)), None)
    if code is not None:
        return ProblemError(code, str(refusal))
    where = refusal.where if isinstance(refusal, BadAnswerError) else ""
    return invalid(str(refusal), pointer=f"/{where}" if where else "")
