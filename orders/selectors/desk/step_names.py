"""The steps of an order by their names, as a url or a request names one."""

from uuid import UUID

from orders.engine.branches import is_item
from orders.models import OrderProcess, StepState


def lacks_step(order_id: UUID, name: str) -> bool:
    """Whether an order that is stored has no step of this name. One or two queries."""
    steps = StepState.objects.filter(process_id=order_id, name=name)
    return not steps.exists() and OrderProcess.objects.filter(pk=order_id).exists()


def names_of_steps(order_id: UUID) -> list[str]:
    """The names of an order's steps, without those of single items. One statement."""
    names = StepState.objects.filter(process_id=order_id).order_by("id").values_list("name", flat=True)
    return [name for name in names if not is_item(name)]
