"""What operators send to the API about approvals: an act as its own operation would take it, and notes."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from orders.api.fields import Choice, NumberCursor, Strict, Text
from orders.api.operator_bulk_requests import ACTIONS, OrderId, read_one_of
from orders.api.operator_order_requests import ErasureIn, PauseIn, SettlementIn
from orders.api.operator_requests import ActIn, CompensationIn, DecisionIn, ReasonIn
from orders.api.operator_system_requests import ForceIn
from orders.api.paging import CURSOR_HELP, LONGEST_NAME, PageQuery
from orders.vocabulary import ApprovalAct, ApprovalState

PLACES: Mapping[ApprovalAct, tuple[str, ...]] = {
    ApprovalAct.SETTLE: ("order", "step"),
    ApprovalAct.FORCE_CIRCUIT: ("agent",),
    ApprovalAct.UNFORCE_CIRCUIT: ("agent",),
    ApprovalAct.ERASE: ("order",),
    ApprovalAct.COMPENSATE: ("order",),
    ApprovalAct.DECIDE: ("order", "step"),
    ApprovalAct.BULK: (),
    ApprovalAct.PAUSE_INTAKE: (),
}
"""What the act's own URL names."""
BODIES: Mapping[ApprovalAct, type[Strict]] = {
    ApprovalAct.SETTLE: SettlementIn,
    ApprovalAct.FORCE_CIRCUIT: ForceIn,
    ApprovalAct.UNFORCE_CIRCUIT: ReasonIn,
    ApprovalAct.ERASE: ErasureIn,
    ApprovalAct.COMPENSATE: CompensationIn,
    ApprovalAct.DECIDE: DecisionIn,
    ApprovalAct.PAUSE_INTAKE: PauseIn,
}


class ApprovalIn(Strict):
    """An act to ask for. `act` is the name of its operation, and `body` what that operation takes.

    `order`, `step` and `agent` are what the URL of the operation names: the order's ID, the name of its step, the name
    of the agent. Send those that it names, and no others.
    """

    act = Choice(list(ApprovalAct))
    order = OrderId(required=False)
    step = Text(max_length=60, required=False)
    agent = Text(max_length=LONGEST_NAME, required=False)
    body = serializers.DictField(required=False)

    def validate(self, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        places = PLACES[ApprovalAct(attrs["act"])]
        mistakes = {name: ["Send this: the act needs it."] for name in places if name not in attrs}
        mistakes |= {
            name: [f"{attrs['act']} has none."]
            for name in ("order", "step", "agent")
            if name in attrs and name not in places
        }
        if mistakes:
            raise ValidationError(mistakes)
        return attrs


def read_act(values: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the act, as its operation reads it. Raises `ValidationError`, with places under `body`."""
    act, body = ApprovalAct(values["act"]), values.get("body", {})
    try:
        if act is ApprovalAct.BULK:
            return read_one_of(ACTIONS, body)
        read: dict[str, Any] = BODIES[act].read(body)
    except ValidationError as error:
        raise ValidationError({"body": error.detail}) from error
    return read


class ApprovalNoteIn(ActIn):
    """Why, for whoever asked. Optional."""

    note = Text(max_length=200, default="")


class ApprovalQuery(PageQuery):
    """Selects requests for approval."""

    state = Choice(list(ApprovalState), default="", help_text="Only requests in this state.")
    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)
