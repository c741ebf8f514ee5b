"""The parts of the console's page of one order, as its templates take them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest

from orders.business import ResultFact, registry
from orders.console import order_chart, time_span
from orders.console.attempt_comparison import comparison
from orders.console.forms.alerts import NoteForm
from orders.console.forms.orders import DecisionForm, PauseForm, PriorityForm
from orders.console.kept_forms import kept, show_rest
from orders.console.order_history import history
from orders.console.order_lookup import readable_json
from orders.console.runbook_parts import runbook_of
from orders.fields.email import ERASED
from orders.selectors.desk import timeline
from orders.selectors.desk.attempts import Attempt
from orders.selectors.desk.clients import naming_accounts
from orders.selectors.desk.console_order import ConsoleOrder, ConsoleStep
from orders.selectors.desk.evidence import evidence_of
from orders.selectors.desk.money_returned import money_returned
from orders.selectors.desk.order_cause import last_fix, newest_note
from orders.selectors.desk.order_detail import Detail, OrderFacts
from orders.selectors.desk.pauses import place_to_pause
from orders.selectors.desk.query import Condition
from orders.selectors.desk.standing import RetryLimits, StandingKind, StepFacts
from orders.selectors.desk.step_calls import step_calls
from orders.services.operators import editing as operator_editing
from orders.services.operators import order_acts
from orders.vocabulary import FINISHED_STATES, Goal, Outcome, ProcessState, StepStatus
from orders.wording import standings
from orders.wording.cancelling import returned_sentence
from orders.wording.events import error_text
from orders.wording.fixes import fix_in_words
from orders.wording.order_notes import with_notes
from orders.wording.state_labels import NO_NOTICE, NOT_NEEDED, NOTICE_SENT, Pill
from orders.wording.step_calls import asked_sentences, call_lines, reversal_sentence

EVENTS_SHOWN = 200


def headline(order: ConsoleOrder) -> str:
    """Where it stands, in a sentence, and what a cancelled order has given back."""
    facts = order.detail.order
    if facts is None:
        return ""
    returned = returned_sentence(money_returned(facts, order.detail.steps))
    return " ".join(filter(None, (standings.sentence(facts.standing), returned)))


def has_own_time(order: OrderFacts | None) -> bool:
    """Whether where it stands is shown with the time by which it, or its step, has to be done."""
    return order is not None and order.standing.kind in (StandingKind.AT_RISK, StandingKind.OVERDUE)


def cause_part(order: ConsoleOrder) -> dict[str, Any]:
    """What is known of the cause of its open alert: evidence, runbook, how it was last fixed, the newest note."""
    alert, alerts = order.detail.alert, order.open_alerts
    if alert is None or alerts is None:
        return {}
    fix = last_fix(alerts.group)
    return {
        **runbook_of(alert.kind, alert.code, alert.agent, step=alert.step),
        "group": alerts.group,
        "fix": fix,
        "fix_words": fix_in_words(fix) if fix else "",
        "note": newest_note(alerts.group),
        "evidence": evidence_of(alert.step, order.detail.steps, order.detail.events),
    }


def result_facts(order: ConsoleOrder) -> Sequence[ResultFact]:
    """What is said of the results of its steps that are done."""
    facts = order.detail.order
    kind = registry.find_kind(facts.workflow) if facts else None
    if kind is None:
        return ()
    results = (
        (step.facts.name, step.result) for step in order.steps if step.facts.state == StepStatus.COMPLETED
    )
    return [fact for name, result in results if result for fact in kind.describe_result(name, result)]


def chart_part(request: HttpRequest, detail: Detail, at: datetime) -> dict[str, Any]:
    """The chart of the part of the time that the url names, and the links to other parts."""
    order = detail.order
    until = order.finished_at if order and order.finished_at else at
    is_stopped = order is not None and order.state in (*FINISHED_STATES, ProcessState.ERROR)
    goal = order.goal if order else Goal.COMPLETE
    lanes = timeline.lanes(detail.steps, detail.events, now=at, goal=goal, is_stopped=is_stopped)
    last = detail.events[-1].at if detail.events else detail.began
    whole = order_chart.whole_span(lanes, began=detail.began, until=min(until, last) if is_stopped else at)
    span = time_span.read_span(request.GET.get("from", ""), request.GET.get("to", ""), whole)
    return {
        "chart": order_chart.draw(lanes, began=detail.began, span=span, notices=detail.notices),
        "span_links": list(time_span.links(span, whole, lanes, detail.began)),
    }


def history_part(
    request: HttpRequest, detail: Detail, limits: RetryLimits, every_attempt: Sequence[Attempt]
) -> dict[str, Any]:
    """The newest events, or all if the url says so, how many are left out, and the attempts that the url compares."""
    shows_all = request.GET.get("events") == "all"
    events = naming_accounts(detail.events if shows_all else detail.events[-EVENTS_SHOWN:])
    return {
        "history": history(
            with_notes(events, detail.notes), every_attempt, retry_limits=limits, notices=detail.notices
        ),
        "comparison": comparison(request.GET.dict(), every_attempt, detail.events),
        "left_out": len(detail.events) - len(events),
    }


def customer_query(order: ConsoleOrder) -> str:
    """The query for all orders of its customer; empty if she is not known any more."""
    email = order.detail.order.email if order.detail.order else ""
    return "" if email in (None, "", ERASED) else str(Condition(name="customer", values=(email,)))


def agents_to_call(order: ConsoleOrder) -> set[str]:
    """The agents that a resubmission calls first."""
    return {step.facts.agent for step in order.steps if step.facts.state == StepStatus.FAILED}


def forms_part(request: HttpRequest, order: ConsoleOrder) -> dict[str, Any]:
    """The forms on an order's page. One that was refused has what was typed, and says why."""
    facts, number = order.detail.order, order.detail.order_id
    priority = pause = None
    if facts and not order.has_ended:
        unsent = PriorityForm(initial={"priority": facts.priority})
        priority = kept(request, f"PriorityForm {number}", PriorityForm, unsent)
    if order.can_pause:
        pause = kept(request, f"PauseForm {number}", PauseForm, PauseForm())
    note = kept(request, f"NoteForm {number}", NoteForm, NoteForm())
    show_rest(request)
    return {
        "note_form": note,
        "priority_form": priority,
        "pause_form": pause,
        "to_decide": [(step, DecisionForm(step=step.facts.name)) for step in order.to_decide],
    }


def step_part(order: ConsoleOrder, step: ConsoleStep, every_attempt: Sequence[Attempt]) -> dict[str, Any]:
    """A step with its calls in sentences, its error and its acts, from the attempts of the order's steps."""
    process, facts = order.detail.order, step.facts
    assert process is not None
    workflow, version, name = process.workflow, process.version, facts.name
    fields = operator_editing.editable_fields(workflow=workflow, version=version, step=name)
    is_skippable = order_acts.is_skippable(workflow=workflow, version=version, step=name)
    return {
        "page": step,
        "pill": _pill_of_cancelled(order.detail, facts),
        "facts": facts,
        **_calls_part(order.detail, facts, every_attempt),
        "failures": facts.failure_count + facts.compensation_failure_count,
        "request": readable_json(step.request),
        "original": readable_json(step.original),
        "result": readable_json(step.result),
        "error": _error(facts.error),
        "can_edit": step.can_edit and bool(fields),
        "can_skip": step.can_skip and is_skippable,
        "can_settle": step.can_settle,
        "can_hurry": step.can_hurry,
        "pausable": _pausable(order, facts),
    }


def _pausable(order: ConsoleOrder, facts: StepFacts) -> tuple[str, str] | None:
    """The place of a step that its order has still to do, if it can be paused in all orders."""
    process = order.detail.order
    if process is None or order.has_ended or facts.state in (StepStatus.COMPLETED, StepStatus.COMPENSATED):
        return None
    return place_to_pause(process.workflow, facts.name)


def _pill_of_cancelled(detail: Detail, facts: StepFacts) -> Pill | None:
    """What is said of a step in a cancelled order in place of its state; None to show that."""
    is_notice = facts.name in detail.notices
    if facts.state == StepStatus.COMPENSATED and is_notice:
        return NOTICE_SENT
    is_cancelled = detail.order is not None and detail.order.state == ProcessState.COMPENSATED
    if is_cancelled and facts.state == StepStatus.NOT_STARTED and not facts.attempt:
        return NO_NOTICE if is_notice else NOT_NEEDED
    return None


def _calls_part(detail: Detail, facts: StepFacts, every_attempt: Sequence[Attempt]) -> dict[str, Any]:
    """How often the service of a step was asked, how each call ended, and how many attempts did not reverse it."""
    assert detail.order is not None
    calls = step_calls(every_attempt, facts.name, compensates=False)
    reversals = step_calls(every_attempt, facts.name, compensates=True)
    declared = registry.find_step(detail.order.workflow, detail.order.version, facts.name)
    return {
        "attempts": max(0, facts.attempt - (reversals.attempts if reversals else 0)),
        "asked": asked_sentences(
            calls,
            agent=facts.agent,
            key_retention=declared.key_retention if declared else None,
            can_be_asked=declared is not None and declared.can_be_asked,
            is_done=facts.outcome == Outcome.DONE,
        ),
        "calls": call_lines(every_attempt, facts.name),
        "reversal": reversal_sentence(reversals, is_notice=facts.name in detail.notices),
    }


def _error(error: Mapping[str, Any] | None) -> str:
    """An error as the alert and the history print it, and below it what else is stored of it."""
    if not error:
        return ""
    others = {name: value for name, value in error.items() if name not in ("code", "message")}
    return "\n".join(filter(None, (error_text(error), readable_json(others) if others else "")))
