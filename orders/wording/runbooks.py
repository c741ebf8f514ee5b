"""What operators read about the error codes that the product itself makes. `tests/unit/test_runbooks.py` finds a code
that has no text here.

The general sentences stand once: what happens to an order that has failed, and how it goes on.
"""

from collections.abc import Mapping

from orders.business import registry
from orders.business.editing import editable
from orders.business.runbooks import Advice, Runbook
from orders.vocabulary import AlertKind
from orders.wording.runbooks_of_calls import CALLS
from orders.wording.runbooks_of_roles import ROLES

WAITS_FOR_YOU = "The order is in Error and waits for a person. Nothing more is sent for it."
RESUBMIT = "Fix the cause, then resubmit: the step goes on under the same key, so nothing is done twice."

ORDERS: Mapping[str, Runbook] = {
    "timed_out": Runbook(
        means="The step passed its complete-by time again and again, and no call to the service was answered.",
        does="It tried as often as the threshold allows, always with the same key, then gave up. "
        + WAITS_FOR_YOU,
        todo="Check that the agent’s processes run and that the service is reachable. " + RESUBMIT,
    ),
    "order_overran": Runbook(
        means="The order as a whole took longer than its workflow allows, and recovering it did not help.",
        does="The supervisor recovered it as often as the threshold allows. " + WAITS_FOR_YOU,
        todo="Look at its history for the step that took the time. Resubmit the order once that step is fast again.",
    ),
    "unprocessable": Runbook(
        means="Our own code fails on this order but handles others. The message names the error.",
        does="The order was set apart so that it holds up no other. " + WAITS_FOR_YOU,
        todo="Report the error with the order’s id to whoever maintains the release. After the fix, resubmit it.",
    ),
    "unknown": Runbook(
        means="The service or the agent gave no code for its error. The message is all there is.",
        does=WAITS_FOR_YOU,
        todo="Read the message and the step’s last answer. " + RESUBMIT,
    ),
    "cannot_be_inserted": Runbook(
        means="A submission could not become an order: its data is not valid, or contradicts what is stored.",
        does="It was set aside, so that it holds up no other. Its application has been told that it failed.",
        todo="Fix what the message names, then replay it on the page Set aside, or leave it there.",
    ),
    "set_aside": Runbook(
        means="A submission was set aside, and its application has been told so.",
        does="It stays set aside until somebody replays it.",
        todo="Fix what the message names, then replay it on the page Set aside.",
    ),
    "branch_failed": Runbook(
        means="The condition or the list of items of a step could not be worked out from the results before it.",
        does="Nothing was sent for the step. " + WAITS_FOR_YOU,
        todo="Compare the results of the earlier steps with what the message says is missing. Fix the workflow or the "
        "result, then resubmit: the question is asked again.",
    ),
    "agent_unavailable": Runbook(
        means="The step waited for its agent for as long as its patience allows, through an outage or a pause.",
        does="Nothing was sent for it. " + WAITS_FOR_YOU,
        todo="Bring the agent back or resume it on the page Agents, then resubmit the orders together.",
    ),
    "key_expired": Runbook(
        means="An earlier call may have taken effect, and the service may have forgotten its key by now.",
        does="Nothing is sent again, since that could do it twice. " + WAITS_FOR_YOU,
        todo="Look the order up at the service, and settle the step as done or not done.",
        advises=Advice.SETTLE,
    ),
    "not_claimed": Runbook(
        means="No agent host was free to take the request before its complete-by time.",
        does="The step is tried again with the same key, until it has failed too often.",
        todo="Start more processes of the agent or raise its capacity, and check whether its requests pile up.",
    ),
    "no_answer": Runbook(
        means="The step waited for a call to return, or for an answer from outside, and none came in its time.",
        does="A call is repeated with the same key until it has failed too often. After a wait, the workflow decides.",
        todo="Ask whoever should have answered. " + RESUBMIT,
    ),
}
"""The codes of orders and of their steps, beside those of calls."""

UNPROCESSABLE = ORDERS["unprocessable"]
OF_A_NEWER_RELEASE = Runbook(
    means="A newer release than this one raised the alert, so this one cannot say what it means.",
    does="The processes of the newer release handle it.",
    todo="Look at it with the newest release that runs here.",
)
OF_A_ROLE = Runbook(
    means="A role does not do its work as it should. The message is all there is.",
    does="It reports itself until it works again. Nothing is lost.",
    todo="Read the log of this role.",
)
OF_THE_RELEASE = Runbook(
    means="Different orders fail with the same error, so it is the release or the database and not the orders.",
    does="The orders wait and none is set aside. One is tried again every so often, and all go on when that works.",
    todo="Read the error, and fix what the release or the database lacks, or go back to the last release.",
)
BY_KIND: Mapping[str, Runbook] = {
    AlertKind.UNPROCESSABLE: UNPROCESSABLE,
    AlertKind.RELEASE: OF_THE_RELEASE,
    AlertKind.STALLED: OF_A_ROLE,
    AlertKind.LATE: ROLES["deadlines"],
}
"""Kinds of alerts whose code has no text of its own, such as the name of a program's error."""
RUNBOOKS: Mapping[str, Runbook] = {**CALLS, **ROLES, **ORDERS}
"""The texts by code."""
FAMILIES: Mapping[str, Runbook] = {
    "http_4": Runbook(
        means="The service answered with this HTTP status and gave no code of its own: a definite no in most cases.",
        does="408, 409, 425 and 429 are tried again, and 402 waits for the customer. After any other the order is in "
        "Error and waits for a person.",
        todo="Read the service’s message. If it refused the data, edit the step and resubmit, or cancel the order.",
        advises=Advice.EDIT,
    ),
    "http_5": Runbook(
        means="The service answered that it has a fault of its own.",
        does="500, 502, 503 and 504 are tried again with the same key, then it is taken to be down and the steps wait. "
        "After another 5xx nobody knows whether it was done, so a person must look.",
        todo="Ask the service’s operators. Resubmit what is in Error when it answers again; nothing is done twice.",
    ),
    "http_": Runbook(
        means="The service answered with an HTTP status that nobody expected here.",
        does="It is unknown whether the call was done. " + WAITS_FOR_YOU,
        todo="Look the order up at the service, and settle the step or resubmit it.",
    ),
    "smtp_4": Runbook(
        means="The mail server did not take the email this time.",
        does="It is tried again with growing pauses, until it has failed too often.",
        todo="Look at the mail server’s queue and limits. Resubmit what is in Error when it takes emails again.",
    ),
    "smtp_5": Runbook(
        means="The mail server refused the email for good, such as for an address that does not exist.",
        does="Nothing was sent. " + WAITS_FOR_YOU,
        todo="Correct the email address by editing the step, or skip the step if the email does not matter.",
        advises=Advice.EDIT,
    ),
}
"""Texts for codes that begin like this. The first that fits counts."""


def find_runbook(*, kind: str, code: str, agent: str) -> Runbook | None:
    """The text about a code of an alert of this kind: that of a business that has the agent, or the product's own.

    None if nobody has written one, as for a code that only a remote service knows.
    """
    for order_kind in registry.kinds():
        if code in order_kind.runbooks and _has_agent(order_kind.name, agent):
            return order_kind.runbooks[code]
    if code in RUNBOOKS:
        return RUNBOOKS[code]
    family = next((text for start, text in FAMILIES.items() if code.startswith(start)), None)
    return family or BY_KIND.get(kind, None if kind in list(AlertKind) else OF_A_NEWER_RELEASE)


AGAINST: Mapping[Advice, str] = {
    Advice.RESUBMIT: "",
    Advice.EDIT: "Resubmitting alone helps only if {who} was wrong and has fixed it.",
    Advice.SETTLE: "Resubmitting does not help before the step is settled.",
    Advice.CANCEL: "Resubmitting alone helps only if {who} was wrong and has fixed it.",
}
"""Why orders are not just resubmitted, by what is advised instead. It stands beside what is to be done (`Runbook.todo`)
and alone."""


def advice_of(runbook: Runbook | None, *, step: str) -> Advice:
    """The act that is advised about a step. One that asks for nothing that can be edited is cancelled instead."""
    advice = runbook.advises if runbook else Advice.RESUBMIT
    if advice != Advice.EDIT or not step:
        return advice
    versions = [version for version in registry.workflows().values() if step in version.by_name]
    can_be_edited = any(editable(version.name, version.version, step) for version in versions)
    return advice if can_be_edited or not versions else Advice.CANCEL


def against_resubmitting(advice: Advice, *, agent: str) -> str:
    """Why resubmitting alone may not help; empty if it is what is advised."""
    return AGAINST[advice].format(who=agent or "the service")


def advise(*, kind: str, code: str) -> str:
    """What to do about an alert that is about a role, a release or a queue, and not about orders, in sentences."""
    runbook = find_runbook(kind=kind, code=code, agent="")
    return f"{runbook.todo if runbook else OF_A_ROLE.todo} There is nothing to resubmit."


def _has_agent(name: str, agent: str) -> bool:
    workflow = registry.newest_workflows()[name]
    return not agent or any(agent == step.own_agent for step in workflow.steps)
