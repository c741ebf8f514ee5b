"""`POST /callbacks/{token}`: what a remote service answers later, about a call that it has taken.

The token is the proof, so no other is asked for. The agent has handed it to the service (`Request.callback_token`).
"""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import documentation
from orders.api.answers import AnswerIn
from orders.api.problems import ProblemError, invalid
from orders.services.answers import (
    AlreadyAnsweredError,
    AnswerError,
    AnswerTooLargeError,
    BadAnswerError,
    NothingWaitsError,
    TooLateError,
    answer_callback,
)

CODES: dict[type[AnswerError], str] = {
    AlreadyAnsweredError: "already_answered",
    NothingWaitsError: "not_found",
    TooLateError: "too_late",
}
"""The problem with which an answer is refused; the first kind that matches."""


class Callback(APIView):
    """One call that is answered later."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(**documentation.ANSWER_CALL)
    def post(self, request: Request, token: str) -> Response:
        answer: dict[str, Any] = AnswerIn.read(request.data)
        error = answer.get("error")
        try:
            answer_callback(
                token=token,
                result=answer.get("result"),
                error=None if error is None else (error["code"], error["message"]),
            )
        except BadAnswerError as refusal:
            if isinstance(refusal, AnswerTooLargeError):
                raise ProblemError("body_too_large", str(refusal)) from refusal
            raise invalid(str(refusal), pointer="") from refusal
        except AnswerError as refusal:
            code = next(code for kind, code in CODES.items() if isinstance(refusal, kind))
            raise ProblemError(code, str(refusal)) from refusal
        return Response(status=204)
