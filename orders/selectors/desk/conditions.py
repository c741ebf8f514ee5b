"""What a filter asks of a stored order, as conditions of the database."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import DateTimeField, Exists, OuterRef, Q, Value
from django.db.models.functions import Coalesce
from django.utils.timezone import get_default_timezone

from orders.engine.branches import SEPARATOR
from orders.models import AgentRequest, Alert, AlertGroup, Order, StepState
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.looked_up import LookedUp, has_step
from orders.selectors.desk.pauses import paused_by_itself
from orders.selectors.desk.query import Condition
from orders.selectors.desk.query_fields import ANYTHING, NO, STANDINGS, YES
from orders.selectors.desk.query_values import Range, read_ages, read_numbers, read_times, read_until
from orders.selectors.desk.standing import StandingKind
from orders.vocabulary import Goal, ProcessState, StepStatus

UNDER_WAY = (ProcessState.PENDING.value, ProcessState.PROCESSING.value)
UNFINISHED = (*UNDER_WAY, ProcessState.ERROR.value)
ANY_STATE = tuple(state.value for state in ProcessState)
STATE_OF = {
    StandingKind.PROCESSED: (ProcessState.PROCESSED.value, Goal.COMPLETE.value),
    StandingKind.COMPENSATED: (ProcessState.COMPENSATED.value, Goal.COMPENSATE.value),
    StandingKind.ERROR: (ProcessState.ERROR.value, Goal.COMPLETE.value),
    StandingKind.COMPENSATION_FAILED: (ProcessState.ERROR.value, Goal.COMPENSATE.value),
}
"""The standings that follow from a process's own row."""
OF_STEPS = ("step", "agent", "waiting")
OF_ALERTS = ("error", "owner", "acknowledged")
WHEN = ("since", "until", "placed", "age")
"""The fields that are about when an order was placed, by which lists are ordered."""


def standings_of(condition: Condition) -> list[StandingKind]:
    """The standings that a condition names."""
    return [STANDINGS[value] for value in condition.values]


def is_worked_out(order_filter: OrderFilter) -> bool:
    """Whether an order matches can only be worked out from its steps."""
    if order_filter.is_impossible:
        return False
    named = [kind for condition in order_filter.conditions("standing") for kind in standings_of(condition)]
    return any(kind not in STATE_OF for kind in named)


def states_of(order_filter: OrderFilter) -> Sequence[str]:
    """The states that a match can be in; empty means any. `("none",)` if there can be no match."""
    states: set[str] | None = None
    for condition in order_filter.parsed.conditions:
        possible = _states_of(condition)
        if possible is not None:
            states = set(possible) if states is None else states & set(possible)
    if not order_filter.conditions("state") and any(
        not condition.negated for condition in order_filter.conditions("priority", "workflow")
    ):
        states = set(UNFINISHED) if states is None else states & set(UNFINISHED)
    return () if states is None else tuple(state for state in ANY_STATE if state in states) or ("none",)


def _states_of(condition: Condition) -> Sequence[str] | None:
    """The states that a match of this condition can be in; None if it says nothing about them."""
    if condition.name == "state":
        return [state for state in ANY_STATE if (state in condition.values) != condition.negated]
    if condition.negated:
        return None
    if condition.name == "standing":
        of = [(STATE_OF[kind][0],) if kind in STATE_OF else UNDER_WAY for kind in standings_of(condition)]
        return [state for states in of for state in states]
    if condition.name == "waiting":
        return UNDER_WAY
    if condition.name in OF_ALERTS:
        return (ProcessState.ERROR.value,)
    return UNFINISHED if condition.name in ("step", "agent") else None


def placed_between(order_filter: OrderFilter, now: datetime) -> tuple[datetime | None, datetime | None]:
    """From when on matches were placed, and until when; None for no bound."""
    spans = [_span(each, now) for each in order_filter.conditions(*WHEN) if not each.negated]
    starts = [start for start, _ in spans if start is not None]
    ends = [end for _, end in spans if end is not None]
    return max(starts, default=None), min(ends, default=None)


def between(span: tuple[datetime | None, datetime | None], time: str) -> Q:
    """The orders of such a time; `time` is their field."""
    start, end = span
    condition = Q(**{f"{time}__gte": start}) if start else Q()
    return condition & Q(**{f"{time}__lt": end}) if end else condition


def not_placed(order_filter: OrderFilter, now: datetime, time: str) -> Q:
    """The orders that were not placed when negated conditions say."""
    condition = Q()
    for each in order_filter.conditions(*WHEN):
        if each.negated:
            condition &= ~between(_span(each, now), time)
    return condition


def _span(condition: Condition, now: datetime) -> tuple[datetime | None, datetime | None]:
    value, zone = condition.values[0], get_default_timezone()
    match condition.name:
        case "since":
            return read_times(value, now=now, zone=zone)[0], None
        case "until":
            return None, read_until(value, now=now, zone=zone)
        case "placed":
            return read_times(value, now=now, zone=zone)
    least, most = read_ages(value)
    return _before(now, most), _before(now, least)


def _before(now: datetime, age: timedelta | None) -> datetime | None:
    return None if age is None else now - age


def of_process(order_filter: OrderFilter, state: str, now: datetime, *, by_age: bool) -> list[Q]:
    """The conditions that no index finds, for orders in this state or, with "", in any.

    `by_age` says that so many of the newest are looked at, and no more: each then has its steps looked up.
    """
    requirements = order_filter.parsed.conditions
    of_steps = [each for each in requirements if each.name in OF_STEPS and not each.negated]
    conditions = [_at_steps(of_steps, state, now, by_age)]
    for each in requirements:
        if each in of_steps:
            continue
        if (condition := _of(each, state, now, by_age)) is not None:
            conditions.append(~condition if each.negated else condition)
    return [condition for condition in conditions if condition]


def _of(condition: Condition, state: str, now: datetime, by_age: bool) -> Q | None:
    """One condition, not yet negated. None if it is not about the columns or the rows of the process."""
    values = condition.values
    match condition.name:
        case "step" | "agent" | "waiting":
            return _at_steps([condition], state, now, by_age)
        case "error":
            return _has_alert(code__in=values)
        case "owner":
            return _has_alert(group__owner__username__in=values)
        case "acknowledged":
            # As `OpenAlerts.acknowledged`: since the oldest of the cause's open alerts. Asked of each cause, once.
            since = Alert.objects.filter(
                group=OuterRef("pk"), closed_at__isnull=True, opened_at__lte=OuterRef("acknowledged_at")
            )
            groups = AlertGroup.objects.filter(LookedUp(since), acknowledged_by__in=values)
            return _has_alert(group__in=groups)
        case "workflow":
            return Q(workflow__in=values)
        case "priority":
            return within(read_numbers(values[0]), "priority")
        case "failures":
            return within(read_numbers(values[0]), "failure_count")
        case "attempts":
            return has_step(within(read_numbers(values[0]), "attempt"))
        case "promise":
            by = Coalesce(OuterRef("finished_at"), Value(now, DateTimeField()))
            return Q(LookedUp(Order.objects.filter(pk=OuterRef("order_id"), promised_by__lt=by)))
        case "paused":
            return _any(_paused(value, now) for value in values)
        case "standing" if all(kind in STATE_OF for kind in standings_of(condition)):
            of = [STATE_OF[kind] for kind in standings_of(condition)]
            return _any(Q(process_state=process_state, goal=goal) for process_state, goal in of)
    return None


def within(numbers: Range, column: str) -> Q:
    """A column that is a number in this range."""
    condition = Q(**{f"{column}__gte": numbers.low}) if numbers.low is not None else Q()
    return condition & Q(**{f"{column}__lte": numbers.high}) if numbers.high is not None else condition


def _any(conditions: Any) -> Q:
    either = Q()
    for condition in conditions:
        either |= condition
    return either


def _has_alert(**of: Any) -> Q:
    alerts = Alert.objects.filter(closed_at__isnull=True, order_id__isnull=False, **of)
    return Q(order_id__in=alerts.values("order_id"))


def _at_steps(conditions: Sequence[Condition], state: str, now: datetime, by_age: bool) -> Q:
    """Orders that are at one step of which all of these are true."""
    only = [each for each in conditions if each.values != (ANYTHING,)]
    condition = _any([_waits(now)]) if len(only) < len(conditions) else Q()
    if not only:
        return condition
    # An index has the steps that failed or wait, and so finds those of a state. It has no others, and no ages.
    has_index = state == ProcessState.ERROR or any(each.name == "waiting" for each in only)
    if state and has_index and not by_age:
        steps = StepState.objects.filter(_is_current(only, state), process_id=OuterRef("order_id"))
        return condition & Q(Exists(steps))
    if state:
        return condition & has_step(_is_current(only, state))
    in_error = Q(process_state=ProcessState.ERROR)
    failed, current = _is_current(only, ProcessState.ERROR), _is_current(only, "")
    return condition & ((in_error & has_step(failed)) | (~in_error & has_step(current)))


def _waits(now: datetime) -> Q:
    """Orders under way that only wait: for a time, a customer, a scheduler or an agent."""
    unclaimed = AgentRequest.objects.filter(order_id=OuterRef("order_id")).filter(
        Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    )
    return Q(process_state=ProcessState.PENDING) | (
        Q(process_state=ProcessState.PROCESSING) & (Q(not_before__isnull=False) | Q(Exists(unclaimed)))
    )


def _is_current(conditions: Sequence[Condition], state: str) -> Q:
    """Whether a step is one that its order is at. In Error it is one that failed, which has an index of its own."""
    if state == ProcessState.ERROR:
        is_current = Q(state=StepStatus.FAILED)
    else:
        begun = (StepStatus.RUNNING, StepStatus.AWAITING, StepStatus.COMPENSATING, StepStatus.FAILED)
        has_begun = Q(state__in=begun) | Q(state=StepStatus.NOT_STARTED, attempt__gt=0)
        waits = Q(waiting_since__isnull=False) | Q(paused_since__isnull=False)
        is_current = has_begun | waits
    for condition in conditions:
        if condition.name == "step":
            is_current &= _any(map(_named, condition.values))
        elif condition.name == "agent":
            is_current &= Q(agent__in=condition.values)
        else:
            is_current &= Q(agent__in=condition.values, waiting_since__isnull=False)
    return is_current


def _named(step: str) -> Q:
    """The steps of this name, and its items."""
    return Q(name=step) | Q(name__startswith=f"{step}{SEPARATOR}")


def _paused(value: str, now: datetime) -> Q:
    """Orders that are paused by themselves or not, or that wait because this step is paused."""
    if value not in (YES, NO):
        steps = StepState.objects.filter(process_id=OuterRef("order_id"), paused_since__isnull=False)
        return Q(Exists(steps.filter(_named(value))))
    return paused_by_itself(now) if value == YES else ~paused_by_itself(now)


_AWAITS = Q(state=StepStatus.AWAITING)
_MAY_STAND_AT = {
    StandingKind.PAUSED: Q(paused_since__isnull=False),
    StandingKind.CUSTOMER: Q(state=StepStatus.FAILED, not_before__isnull=False),
    StandingKind.DECISION: _AWAITS,
    StandingKind.ANSWER: _AWAITS,
    StandingKind.DELAY: _AWAITS,
    StandingKind.EXTENDED_WAIT: Q(extended_waits__gt=0),
    StandingKind.RETRYING: Q(
        Q(attempt__gt=1)
        | Q(failure_count__gt=0)
        | Q(compensation_failure_count__gt=0)
        | Q(not_before__isnull=False),
        state__in=(StepStatus.RUNNING, StepStatus.COMPENSATING, StepStatus.NOT_STARTED),
        attempt__gt=0,
    ),
}
"""What is true of a step of every order that stands at one of these, and of few others."""


def narrowed(order_filter: OrderFilter) -> Q:
    """Orders that may stand where they are to stand, so that few others are examined."""
    conditions = order_filter.conditions("standing")
    if len(conditions) != 1 or conditions[0].negated or len(conditions[0].values) > 1:
        return Q()
    (kind,) = standings_of(conditions[0])
    if kind == StandingKind.AGENT:
        requests = AgentRequest.objects.filter(order_id=OuterRef("order_id"))
        return has_step(Q(waiting_since__isnull=False)) | Q(Exists(requests))
    may_stand_there = _MAY_STAND_AT.get(kind)
    return Q() if may_stand_there is None else has_step(may_stand_there)
