"""What pages say of resubmitting: beside the button of an order, and about orders that were resubmitted."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from orders.business import Advice
from orders.business.editing import editable, order_fields
from orders.selectors.desk.agents import HeldUp, held_up
from orders.selectors.desk.console_order import ConsoleOrder
from orders.selectors.desk.resubmissions import resubmissions_of, waits_of_actions
from orders.services.operators.bulk import GRACE
from orders.vocabulary import Goal, StepStatus
from orders.wording.resubmissions import became, edit_sentence, resubmit_sentence, waits_sentence


def resubmission_part(order: ConsoleOrder, *, advice: Advice = Advice.RESUBMIT) -> dict[str, Any]:
    """What resubmitting the order does, and editing it first; nothing if it cannot be resubmitted now."""
    facts = order.detail.order
    if facts is None or not order.can_resubmit:
        return {}
    failed = [step.facts.name for step in order.steps if step.facts.state == StepStatus.FAILED]
    is_backward = facts.goal == Goal.COMPENSATE
    part = {
        "resubmit_does": resubmit_sentence(
            failed, is_backward=is_backward, seconds=int(GRACE.total_seconds())
        ),
        "resubmit_is_advised": advice == Advice.RESUBMIT,
    }
    if not order.can_edit:
        return part
    step = failed[0] if failed else ""
    has_more = len(order_fields(facts.workflow)) > 1
    own = editable(facts.workflow, facts.version, step)
    return {**part, "edit_does": edit_sentence(own, has_more=has_more), "edit_step": step}


def resubmissions_part(group_id: int, *, now: datetime) -> dict[str, Any]:
    """What has become of the orders of a cause that were resubmitted, with a sentence about each."""
    resubmissions = resubmissions_of(group_id, now=now)
    held = _held({agent for each in resubmissions for agent in each.waiting}, now)
    return {
        "resubmissions": [(each, became(each, held)) for each in resubmissions],
        "under_way": any(each.under_way for each in resubmissions),
    }


def waits_part(action_ids: Sequence[int], *, now: datetime) -> dict[int, str]:
    """For which agents the orders of bulk actions wait, in sentences, by the actions' ids."""
    waits = waits_of_actions(action_ids)
    held = _held({agent for each in waits.values() for agent in each}, now)
    return {action_id: waits_sentence(each, held) for action_id, each in waits.items()}


def _held(agents: Collection[str], now: datetime) -> list[HeldUp]:
    return held_up(agents, now=now) if agents else []
