"""The acts that an admin can approve: what each is called, what it is about, and the service that carries it out.

`parameters` are JSON, as `ApprovalRequest` keeps them. Each act is the very service that does it without approval.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from orders.engine.runtime.sql import database_now
from orders.fields.money import Money
from orders.models import AlertGroup
from orders.selectors.desk.money_back import Cancellation, MoneyBack, cancellation_of, refunds_of
from orders.selectors.desk.refund_approval import refund_to_approve
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators import agents, bulk, deciding, order_acts, pausing_intake, settling
from orders.services.operators.acts import done
from orders.services.operators.order_erasure import WORD, erase_customer_of
from orders.services.refund_approval import Approval
from orders.vocabulary import ApprovalAct
from orders.wording.cancelling import cancel_many
from orders.wording.pauses import lasts_in_words
from orders.wording.units import counted, english_money

Parameters = Mapping[str, Any]

DONE, NOT_DONE, COMPENSATED = "done", "not_done", "compensated"
"""What can have become of a step that is settled."""
OUTCOMES = {DONE: "done", NOT_DONE: "not done", COMPENSATED: "reversed outside the system"}


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Who acts and why, and what confirms it: what was `typed` when it is asked for, the `approval` afterwards."""

    actor: Actor
    reason: str
    approval: Approval
    typed: str | int | None = None


@dataclass(frozen=True, kw_only=True)
class Act:
    """An act that can be approved. `perform` may raise what its service raises."""

    perform: Callable[[Parameters, Terms], Result]
    target: Callable[[Parameters], str]
    say: Callable[[Parameters], str]


def _settle(parameters: Parameters, terms: Terms) -> Result:
    act: dict[str, Any] = {
        "order_id": UUID(parameters["order_id"]),
        "step": parameters["step"],
        "actor": terms.actor,
        "reason": terms.reason,
    }
    if parameters["outcome"] == DONE:
        return settling.settle_done(result=parameters["result"], **act)
    if parameters["outcome"] == COMPENSATED:
        return settling.settle_compensated(**act)
    return settling.settle_not_done(**act)


def _force(parameters: Parameters, terms: Terms) -> Result:
    return agents.force_circuit(
        agent=parameters["agent"],
        state=parameters["state"],
        seconds=parameters["seconds"],
        actor=terms.actor,
        reason=terms.reason,
    )


def _unforce(parameters: Parameters, terms: Terms) -> Result:
    return agents.unforce_circuit(agent=parameters["agent"], actor=terms.actor, reason=terms.reason)


def _erase(parameters: Parameters, terms: Terms) -> Result:
    return erase_customer_of(
        order_id=UUID(parameters["order_id"]),
        actor=terms.actor,
        reason=terms.reason,
        typed=WORD if terms.typed is None else str(terms.typed),
        seconds=0,  # the jobs do the work, in transactions of their own
    )


def _compensate(parameters: Parameters, terms: Terms) -> Result:
    return order_acts.compensate(
        order_id=UUID(parameters["order_id"]),
        actor=terms.actor,
        reason=terms.reason,
        typed=None if terms.typed is None else str(terms.typed),
        approval=terms.approval,
    )


def _decide(parameters: Parameters, terms: Terms) -> Result:
    return deciding.decide(
        order_id=UUID(parameters["order_id"]),
        step=parameters["step"],
        choice=parameters["choice"],
        note=terms.reason,
        actor=terms.actor,
        typed=None if terms.typed is None else str(terms.typed),
        approval=terms.approval,
    )


def _act_in_bulk(parameters: Parameters, terms: Terms) -> Result:
    order_ids = [UUID(order_id) for order_id in parameters["orders"]]
    action = bulk.create(
        kind=parameters["kind"],
        order_ids=order_ids,
        selection=parameters["selection"],
        actor=terms.actor,
        reason=terms.reason,
        group=AlertGroup.objects.filter(pk=parameters["group"]).first(),
        query=parameters["query"],
        waves=parameters["waves"],
        stop_share=parameters["stop_share"],
        rate=parameters["rate"],
        typed_count=len(order_ids) if terms.typed is None else int(terms.typed),
        approval=terms.approval,
        predecessor=parameters["query"].get("failed_of"),
    )
    return done(f"Bulk action {action.pk} begins in {bulk.GRACE.total_seconds():.0f} seconds.")


def _pause_intake(parameters: Parameters, terms: Terms) -> Result:
    minutes, until = parameters["minutes"], _moment(parameters["until"])
    return pausing_intake.pause_intake(
        actor=terms.actor,
        reason=terms.reason,
        until=database_now() + timedelta(minutes=minutes) if minutes else until,
    )


def pause_parameters(*, minutes: int | None = None, until: datetime | None = None) -> dict[str, Any]:
    """What is asked for with a pause of the intake: how long it lasts from its approval on, or until when; without
    either, until somebody resumes the intake."""
    return {"minutes": minutes, "until": until.isoformat() if until else None}


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def bulk_parameters(
    *, order_ids: Sequence[UUID], group: AlertGroup | None, query: Mapping[str, Any], **fields: Any
) -> dict[str, Any]:
    """What is asked for with a bulk action, from what `bulk.create` would be called with."""
    return {
        "orders": [str(order_id) for order_id in order_ids],
        "group": group.pk if group else None,
        "query": dict(query),
        **fields,
    }


def _order(parameters: Parameters) -> str:
    return f"order {parameters['order_id']}"


def _agent(parameters: Parameters) -> str:
    return f"agent {parameters['agent']}"


def _say_settle(parameters: Parameters) -> str:
    return f"Settle {parameters['step']} as {OUTCOMES[parameters['outcome']]}"


def _say_force(parameters: Parameters) -> str:
    minutes = f"{parameters['seconds'] / 60:.0f} min"
    return f"Force the circuit of {parameters['agent']} {parameters['state']} for {minutes}"


def _say_compensate(parameters: Parameters) -> str:
    return f"Cancel the order and refund {_refund_in_words(parameters)}"


def _say_decide(parameters: Parameters) -> str:
    choice = f"Decide {parameters['step']}: {parameters['choice']}"
    return f"{choice}. That cancels the order and refunds {_refund_in_words(parameters)}"


def _refund_in_words(parameters: Parameters) -> str:
    refund = refund_of(parameters)
    return english_money(refund) if refund else "what was paid"


def _say_bulk(parameters: Parameters) -> str:
    cancellation = _cancellation_of(parameters)
    act = cancel_many(cancellation.orders, cancellation.back) if cancellation else ""
    return f"{act}: {parameters['selection']}" if act else "Cancel orders"


def _say_pause_intake(parameters: Parameters) -> str:
    return f"Stop new orders {lasts_in_words(parameters['minutes'], _moment(parameters['until']))}"


def refund_named(act: ApprovalAct, parameters: Parameters) -> dict[str, Any]:
    """The money that an act gives back now, for its request to name. Empty if it gives back none."""
    if act in REFUNDS:
        refund = refund_to_approve(UUID(parameters["order_id"]))
        return {"refund": refund.amount, "currency": refund.currency} if refund else {}
    if act is not ApprovalAct.BULK:
        return {}
    order_ids = list(dict.fromkeys(UUID(order_id) for order_id in parameters["orders"]))
    present = cancellation_of(order_ids, refunds_of(order_ids))
    return {
        "cancels": present.orders,
        "charged": [asdict(price) for price in present.back.charged],
        "held": [asdict(price) for price in present.back.held],
    }


def approval_by(parameters: Parameters, *, request: int, asked_by: str) -> Approval:
    """The approval of an act for what its request named."""
    return Approval(
        request=request,
        asked_by=asked_by,
        refund=refund_of(parameters),
        cancellation=_cancellation_of(parameters),
    )


def _cancellation_of(parameters: Parameters) -> Cancellation | None:
    """What a request to cancel many orders names; None if it names no sum."""
    if "cancels" not in parameters:
        return None
    charged, held = (tuple(Money(**price) for price in parameters[name]) for name in ("charged", "held"))
    return Cancellation(orders=parameters["cancels"], back=MoneyBack(charged=charged, held=held))


def refund_of(parameters: Parameters) -> Money | None:
    """The sum that a request names as going back to the customer."""
    if parameters.get("refund") is None:
        return None
    return Money(amount=parameters["refund"], currency=parameters["currency"])


ACTS: Mapping[ApprovalAct, Act] = {
    ApprovalAct.SETTLE: Act(perform=_settle, target=_order, say=_say_settle),
    ApprovalAct.FORCE_CIRCUIT: Act(perform=_force, target=_agent, say=_say_force),
    ApprovalAct.UNFORCE_CIRCUIT: Act(
        perform=_unforce, target=_agent, say=lambda act: f"Stop forcing the circuit of {act['agent']}"
    ),
    ApprovalAct.ERASE: Act(perform=_erase, target=_order, say=lambda _: "Erase the customer of the order"),
    ApprovalAct.COMPENSATE: Act(perform=_compensate, target=_order, say=_say_compensate),
    ApprovalAct.DECIDE: Act(perform=_decide, target=_order, say=_say_decide),
    ApprovalAct.BULK: Act(
        perform=_act_in_bulk, target=lambda act: f"{counted(len(act['orders']), 'order')}", say=_say_bulk
    ),
    ApprovalAct.PAUSE_INTAKE: Act(
        perform=_pause_intake, target=lambda _: pausing_intake.TARGET, say=_say_pause_intake
    ),
}
REFUNDS = frozenset({ApprovalAct.COMPENSATE, ApprovalAct.DECIDE})
"""The acts that name the sum that goes back to the customer of one order."""
