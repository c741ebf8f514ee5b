"""The problems of acts that need more than the request has: another person, other orders, or the right number."""

from orders.api.problems import PROBLEMS, ProblemError
from orders.services.operators import bulk as bulk_services
from orders.services.refund_approval import ApprovalNeededError


def approval_problem(error: ApprovalNeededError) -> ProblemError:
    """The problem of an act that needs another person's approval: it says what to ask for."""
    where = PROBLEMS["approval_required"].meaning
    return ProblemError("approval_required", f"{error} {where}", members={"ask": error.act.value})


def busy_problem(error: bulk_services.BusyOrdersError) -> ProblemError:
    """The problem of orders that another bulk action has."""
    members = {"bulk_actions": list(error.actions), "busy_orders": error.count}
    return ProblemError("orders_busy", f"{error} {PROBLEMS['orders_busy'].meaning}", members=members)


def count_problem(error: bulk_services.CountMismatchError) -> ProblemError:
    """The problem of a count that is missing or wrong. It does not say the right one: whoever repeats a request with
    what its refusal says has confirmed nothing."""
    where = PROBLEMS["count_not_confirmed"].meaning
    if error.typed is None:
        return ProblemError("count_not_confirmed", f"There is no `count`, and this needs one. {where}")
    return ProblemError(
        "count_not_confirmed", f"There are not {error.typed} orders now. Look at them again. {where}"
    )
