"""The problems of acts that need more than the request has: another person, other orders, or the right number."""

from collections.abc import Sequence
from uuid import UUID

from orders.api.answers import problem_of
from orders.api.problems import PROBLEMS, ProblemError, invalid
from orders.business.registry import workflows
from orders.selectors.desk.agents import agent_names
from orders.selectors.desk.pauses import steps_of_workflow
from orders.selectors.desk.step_names import names_of_steps
from orders.services.act_results import EndsTooEarlyError, Result, UnconfirmedError
from orders.services.answers import AnswerError
from orders.services.operators import bulk as bulk_services
from orders.services.refund_approval import ApprovalNeededError

UNCONFIRMED = (
    "`confirm` is missing or wrong. Send in it the order’s total in plain figures, such as `39.00`, if money goes back"
    " to the customer, otherwise the word `cancel`."
)
LONGEST_SHOWN = 60
"""Characters of a name in a url that an answer repeats."""


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


def refusal(result: Result, *, place: str = "") -> ProblemError:
    """The problem of an act that a service has refused. `place` is where its values are in the body, as a pointer."""
    cause = result.cause
    if isinstance(cause, ApprovalNeededError):
        return approval_problem(cause)
    if isinstance(cause, UnconfirmedError):
        return ProblemError("act_refused", UNCONFIRMED)
    if isinstance(cause, EndsTooEarlyError):
        return invalid(result.message, pointer=f"{place}/until")
    return (
        problem_of(cause) if isinstance(cause, AnswerError) else ProblemError("act_refused", result.message)
    )


def no_such_agent(name: str) -> ProblemError:
    """The problem of an act on an agent that there is not."""
    return _missing(f"There is no agent {_quoted(name)}", "agents", agent_names())


def no_such_step(order_id: UUID, name: str) -> ProblemError:
    """The problem of an act on a step that an order does not have."""
    return _missing(f"The order has no step {_quoted(name)}", "steps", names_of_steps(order_id))


def no_such_workflow_step(workflow: str, step: str) -> ProblemError:
    """The problem of an act on a step that no workflow of this release has."""
    steps = steps_of_workflow(workflow)
    if not steps:
        names = sorted({each.name for each in workflows().values()})
        return _missing(f"There is no workflow {_quoted(workflow)}", "workflows", names)
    return _missing(f"The workflow {workflow} has no step {_quoted(step)}", "steps", steps)


def _missing(what: str, plural: str, names: Sequence[str]) -> ProblemError:
    others = f"; the {plural} are {', '.join(names)}" if names else ""
    return ProblemError("not_found", f"{what}{others}.")


def _quoted(name: str) -> str:
    return f"“{name[:LONGEST_SHOWN]}”"
