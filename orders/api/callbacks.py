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
from orders.api.answers import AnswerIn, problem_of
from orders.services.answers import AnswerError, answer_callback


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
        except AnswerError as refusal:
            raise problem_of(refusal) from refusal
        return Response(status=204)
