"""One order as plain text: header, steps, open alert, where its time went, timeline."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from orders.fields.money import Money
from orders.fields.order_numbers import spoken_number
from orders.management.tables import Column, Fit, paragraph, printable, table
from orders.selectors.desk.attempts import runs
from orders.selectors.desk.history import TimeSpent
from orders.selectors.desk.order_detail import AlertFacts, Detail, OrderFacts
from orders.selectors.desk.standing import RetryLimits, StepFacts
from orders.vocabulary import Goal, Outcome, ProcessState, StepStatus
from orders.wording import standings
from orders.wording.alert_words import alert_title
from orders.wording.events import calls_sentence, error_text, event_sentence
from orders.wording.units import counted, duration, elapsed, plain_money, short_relative
from orders.wording.waits import spent_rows, wait_words

LABEL = 12

WAITS_FOR: Mapping[str, str] = {StepStatus.FAILED: "customer", StepStatus.AWAITING: "its time"}
"""What a step with a time waits for, if not for its next try."""


def describe(detail: Detail, *, retry_limits: RetryLimits, now: datetime, width: int) -> str:
    """Everything about the order, in lines of at most `width` characters where they can be wrapped."""
    parts = ["\n".join(_header(detail, now))]
    if detail.steps:
        parts.append(_steps(detail, now, width))
    if detail.alert:
        parts.append(_alert(detail, detail.alert, now, width))
    if detail.notes:
        parts.append(_notes(detail, width))
    if detail.events:
        parts.append(_spent(detail.spent, width))
        parts.append(_longest(detail, retry_limits, width))
        parts.append(_timeline(detail, retry_limits, width))
    return "\n\n".join(parts)


def _header(detail: Detail, now: datetime) -> Iterator[str]:
    yield f"{'order':<{LABEL}}{detail.order_id}"
    yield f"{'number':<{LABEL}}{spoken_number(detail.order_id)}"
    if detail.queued:
        queued = detail.queued
        wait = duration((now - queued.posted_at).total_seconds())
        yield f"{'state':<{LABEL}}in the submission queue for {wait}, {counted(queued.ahead, 'submission')} before it"
        yield f"{'client':<{LABEL}}{printable(queued.client)}"
        if queued.goal == Goal.COMPENSATE:
            yield f"{'goal':<{LABEL}}it is cancelled, and none of its steps will be started"
    elif detail.set_aside:
        submission = detail.set_aside
        wait = duration((now - submission.set_aside_at).total_seconds())
        yield f"{'state':<{LABEL}}set aside for {wait}: {printable(submission.reason)}"
        yield f"{'client':<{LABEL}}{printable(submission.client)}"
        yield f"{'to do':<{LABEL}}fix the cause, then run manage.py set_aside replay {submission.number}"
    elif detail.order:
        for label, value in _facts(detail, detail.order, now):
            yield f"{label + ' ':<{LABEL}}{printable(value)}"


def _facts(detail: Detail, order: OrderFacts, now: datetime) -> Iterator[tuple[str, str]]:
    code = detail.alert.code if detail.alert else ""
    summary = standings.summary(order.standing, now=now, code=code)
    yield "state", summary if summary.startswith(order.state) else f"{summary} ({order.state})"
    yield "goal", "cancel the order" if order.goal == Goal.COMPENSATE else order.goal
    if order.profile.title:
        yield order.profile.label, order.profile.title
    if order.profile.subject:
        yield "subject", order.profile.subject
    if order.profile.reference:
        yield "reference", order.profile.reference
    for name, text in order.profile.metadata.items():
        yield "metadata", f"{name}: {text}"
    yield "workflow", f"{order.workflow}, version {order.version}; priority {order.priority}"
    placed_at = order.placed_at or order.created_at
    yield "placed", f"{placed_at:%Y-%m-%d %H:%M:%S} UTC, {duration((now - placed_at).total_seconds())} ago"
    if (promised := order.profile.promised_by) and order.finished_at:
        yield "promised for", f"{promised:%Y-%m-%d %H:%M} UTC"
    elif promised:
        yield "due", _relative(promised, now)
    if detail.took is not None:
        yield "took", duration(detail.took)
    if order.state == ProcessState.PROCESSING and order.complete_by:
        yield "complete by", _relative(order.complete_by, now)
    if order.locked_by:
        yield "locked by", order.locked_by
    if order.failure_count:
        overran = f", {order.overruns} of them of the order itself" if order.overruns else ""
        yield "failures", f"{order.failure_count}{overran}"
    if order.total is not None and order.currency is not None:
        yield "total", plain_money(Money(amount=order.total, currency=order.currency))
    for attribute in order.profile.attributes:
        yield attribute.label.lower(), attribute.text
    if order.email:
        yield "customer", order.email + (f" ({order.customer})" if order.customer else " (guest)")
    if order.reply_to:
        yield "reply to", order.reply_to


def _relative(moment: datetime, now: datetime) -> str:
    return short_relative((moment - now).total_seconds())


def _notes(detail: Detail, width: int) -> str:
    """The notes, the newest first."""
    lines = ["notes"]
    for note in detail.notes:
        lines.append(f"  {note.by}, {note.at:%Y-%m-%d %H:%M:%S} UTC")
        lines += [paragraph(printable(line), indent="    ", width=width) for line in note.text.splitlines()]
    return "\n".join(lines)


def _steps(detail: Detail, now: datetime, width: int) -> str:
    columns = (
        Column("STEP", fit=Fit.CUT, least=17),
        Column("AGENT", fit=Fit.CUT, least=9),
        Column("STATE", fit=Fit.WRAP, least=11),
        Column("ATTEMPT", right=True),
        Column("GEN", right=True),
        Column("OUTCOME"),
        Column("FAIL", right=True),
        Column("DUE", fit=Fit.WRAP),
        Column("KEY"),
    )
    rows = [
        (
            step.name,
            step.agent,
            _state(step),
            step.attempt,
            step.generation,
            None if step.outcome == Outcome.NONE else step.outcome,
            step.failure_count + step.compensation_failure_count,
            _due(step, now),
            step.key.replace(f"{detail.order_id}/{step.name}", "…") if step.attempt else None,
        )
        for step in detail.steps
    ]
    lines = [table(columns, rows, width=width), f"  … in a key is {detail.order_id}/STEP"]
    for step in detail.steps:
        if step.error:
            lines.append(paragraph(f"{step.name}: {error_text(step.error)}", indent="  ", width=width))
    return "\n".join(lines)


def _state(step: StepFacts) -> str:
    """The step's state, or what keeps it from being started."""
    if step.paused_since is not None:
        return "paused"
    return step.state if step.waiting_since is None else "waiting for agent"


def _due(step: StepFacts, now: datetime) -> str | None:
    """The step's complete-by, or what it waits for."""
    if step.complete_by is not None:
        held = ", no agent yet" if step.asked_at is not None and step.held_by is None else ""
        return f"{_relative(step.complete_by, now)}{held}"
    if step.not_before is not None:
        waits_for = WAITS_FOR.get(step.state, "retry")
        return f"{waits_for} {_relative(step.not_before, now)}"
    return None


def _alert(detail: Detail, alert: AlertFacts, now: datetime, width: int) -> str:
    on = f" ({', '.join(filter(None, (alert.step, alert.agent)))})" if alert.step else ""
    opened = duration((now - alert.opened_at).total_seconds())
    lines = [
        f"open alert, {opened} old: {alert_title(alert.kind, alert.code)}{on}: {alert.code}",
        paragraph(alert.message, indent="  ", width=width),
    ]
    if detail.order:
        lines.append(f"  to do: manage.py resubmit {detail.order_id}")
    return "\n".join(lines)


def _spent(spent: TimeSpent, width: int) -> str:
    """What the order waited for, the longest first."""
    columns = (
        Column("SPENT", right=True),
        Column("SHARE", right=True),
        Column("WAITING FOR", fit=Fit.WRAP),
    )
    rows = [
        (duration(row.seconds), f"{row.percent} %", f"{row.cause}{f': {row.parts}' if row.parts else ''}")
        for row in spent_rows(spent)
    ]
    return f"where the time went: {duration(spent.total)} in total\n{table(columns, rows, width=width)}"


def _longest(detail: Detail, retry_limits: RetryLimits, width: int) -> str:
    columns = (
        Column("LONGEST", right=True),
        Column("FROM", right=True),
        Column("WAITING FOR", fit=Fit.WRAP, least=24),
        Column("AFTER", fit=Fit.WRAP, least=40),
    )
    rows = []
    for wait in detail.spent.longest:
        after = (
            event_sentence(detail.events[wait.after], retry_limits)
            if wait.after >= 0
            else "The order was posted"
        )
        rows.append(
            (
                duration(wait.seconds),
                elapsed((wait.began - detail.began).total_seconds()),
                wait_words(wait),
                after,
            )
        )
    return table(columns, rows, width=width)


def _timeline(detail: Detail, retry_limits: RetryLimits, width: int) -> str:
    columns = (
        Column("AT", right=True),
        Column("GAP", right=True),
        Column("WHAT", fit=Fit.WRAP),
        Column("WHO", fit=Fit.CUT, least=20),
    )
    rows = []
    before = detail.began
    for run in runs(detail.events):
        first, last = run[0], run[-1]
        sentence = calls_sentence(run) if len(run) > 1 else event_sentence(first, retry_limits)
        at = elapsed((first.at - detail.began).total_seconds())
        rows.append((at, duration((first.at - before).total_seconds()), sentence, first.actor_name))
        before = last.at
    began = f"{detail.began:%Y-%m-%d %H:%M:%S} UTC"
    return f"timeline, from {began}\n{table(columns, rows, width=width)}"
