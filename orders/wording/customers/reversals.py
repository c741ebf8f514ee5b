"""What of an order can be reversed, and whether all of it is."""

from orders.business.editing import lasting_steps, sends_notice
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.vocabulary import StepStatus
from orders.wording.customers.charges import MAY_HAVE_BEGUN


def is_reversible(step: CustomerStep, order: CustomerOrder) -> bool:
    """Whether what a step does can be reversed. Of a step with items, theirs is."""
    has_items = any(other.name.startswith(f"{step.name}:") for other in order.steps)
    return not has_items and declared_name(step.name) not in lasting_steps(
        order.workflow, order.workflow_version
    )


def lacks_only_notice(order: CustomerOrder) -> bool:
    """Whether of an order on its way back all is reversed, and only the notice that tells its customer so is still to
    come."""
    tellers = sends_notice(order.workflow, order.workflow_version)
    others = [step for step in order.steps if declared_name(step.name) not in tellers]
    return len(others) < len(order.steps) and all(_is_over(step, order) for step in others)


def _is_over(step: CustomerStep, order: CustomerOrder) -> bool:
    """Whether a step has no effect that is left to reverse, and gets none any more."""
    if step.state in (StepStatus.RUNNING, StepStatus.COMPENSATED):
        return step.state == StepStatus.COMPENSATED
    return step.outcome not in MAY_HAVE_BEGUN or not is_reversible(step, order)
