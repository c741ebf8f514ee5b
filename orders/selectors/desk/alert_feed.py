"""Alerts and their groups as the operators' API lists them: newest first, by pages."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Count, Min, Q

from orders.models import Alert, AlertGroup, BulkAction, BulkItem, Circuit, StepState
from orders.selectors.desk.alerts import is_acknowledged
from orders.selectors.orders import Page
from orders.vocabulary import BulkItemState

MOST_OF_GROUP = 50_000
"""Orders that are resubmitted at once."""


def alerts(*, group: int | None, kind: str | None, agent: str, before: int | None, limit: int) -> Page[Alert]:
    """Open alerts, each with the number of the step that it is about, in `step_id`."""
    chosen = Alert.objects.filter(closed_at__isnull=True)
    if group is not None:
        chosen = chosen.filter(group_id=group)
    if kind is not None:
        chosen = chosen.filter(kind=kind)
    if agent:
        chosen = chosen.filter(agent=agent)
    if before is not None:
        chosen = chosen.filter(pk__lt=before)
    found = list(chosen.order_by("-id")[: limit + 1])
    order_ids = [one.order_id for one in found if one.order_id is not None]
    steps = StepState.objects.filter(process_id__in=order_ids).values_list("process_id", "name", "id")
    numbers = {(order_id, name): number for order_id, name, number in steps}
    for one in found:
        one.step_id = numbers.get((one.order_id, one.step))  # type: ignore[attr-defined]
    return Page(items=found[:limit], has_more=len(found) > limit)


def groups(*, before: int | None, limit: int) -> Page[AlertGroup]:
    """Groups with open alerts, each with how many, in `open`.

    An acknowledgement that was of an earlier time, as the console has it too, is none.
    """
    counted = Alert.objects.filter(closed_at__isnull=True).order_by().values("group_id")
    facts = counted.annotate(number=Count("*"), first_at=Min("opened_at"))
    numbers = {
        group_id: (number, first_at)
        for group_id, number, first_at in facts.values_list("group_id", "number", "first_at")
    }
    wanted = sorted((number for number in numbers if before is None or number < before), reverse=True)
    found = AlertGroup.objects.in_bulk(wanted[:limit])
    for number, group in found.items():
        group.open, began = numbers[number]  # type: ignore[attr-defined]
        if not is_acknowledged(group, began):
            group.acknowledged_at, group.acknowledged_by = None, ""
    items = [found[number] for number in wanted[:limit] if number in found]
    return Page(items=items, has_more=len(wanted) > limit)


def group(group_id: int) -> AlertGroup | None:
    """One group."""
    return AlertGroup.objects.filter(pk=group_id).first()


def failed_orders(group_id: int) -> Sequence[UUID]:
    """The orders of a group's open alerts, oldest first."""
    chosen = Alert.objects.filter(group_id=group_id, closed_at__isnull=True, order_id__isnull=False)
    return list(chosen.order_by("id").values_list("order_id", flat=True)[: MOST_OF_GROUP + 1])


def step(step_id: int) -> tuple[UUID, str] | None:
    """The order and the name of a step."""
    return StepState.objects.filter(pk=step_id).values_list("process_id", "name").first()


def agent_exists(name: str) -> bool:
    """Whether there is such an agent."""
    return Circuit.objects.filter(agent=name).exists()


def action(action_id: int) -> BulkAction | None:
    """A bulk action, with how many of its orders are in each state, in `counts`."""
    found = BulkAction.objects.filter(pk=action_id).first()
    if found is not None:
        by_state = {state.value: Count("id", filter=Q(state=state)) for state in BulkItemState}
        found.counts = BulkItem.objects.filter(action=found).aggregate(**by_state)  # type: ignore[attr-defined]
    return found
