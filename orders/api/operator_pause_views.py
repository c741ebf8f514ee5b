"""The operators' REST API of what is held back beside single orders and agents: new orders, and steps of workflows."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from orders.access.levels import ADMINISTER
from orders.api import operator_pause_documentation as documentation
from orders.api.operator_order_requests import PauseIn
from orders.api.operator_pause_representations import PausesOut
from orders.api.operator_problems import no_such_workflow_step
from orders.api.operator_views import ActView, OperatorView
from orders.selectors.database_clock import now
from orders.selectors.desk.pauses import read_pauses, step_exists
from orders.services.operators import pausing_intake, pausing_steps


class Pauses(OperatorView):
    """What is paused."""

    @extend_schema(**documentation.GET_PAUSES)
    def get(self, request: Request) -> Response:
        return Response(PausesOut.render(read_pauses(now=now())))


@extend_schema_view(post=extend_schema(**documentation.PAUSE_INTAKE))
class IntakePause(ActView):
    """Stops new orders."""

    permission = ADMINISTER
    body = PauseIn
    act = staticmethod(pausing_intake.pause_intake)


@extend_schema_view(post=extend_schema(**documentation.RESUME_INTAKE))
class IntakeResume(ActView):
    """Accepts new orders again."""

    permission = ADMINISTER
    act = staticmethod(pausing_intake.resume_intake)


class StepAct(ActView):
    """An act on a step of a workflow."""

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        if not step_exists(**url):
            raise no_such_workflow_step(**url)
        return url


@extend_schema_view(post=extend_schema(**documentation.PAUSE_STEP))
class StepPause(StepAct):
    """Pauses a step in all orders of its workflow."""

    body = PauseIn
    act = staticmethod(pausing_steps.pause_step)


@extend_schema_view(post=extend_schema(**documentation.RESUME_STEP))
class StepResume(StepAct):
    """Resumes a paused step."""

    act = staticmethod(pausing_steps.resume_step)
