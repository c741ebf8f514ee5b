"""What a shift leaves the next one: what opened and ended, what is open now and who has it, and what waits for people.

Each part is read by an index and bounded, so that a page costs the same after a bad night.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from orders.engine.runtime.sql import fetch
from orders.models import Alert, AlertGroup, GroupNote, HandoverNote, StepState
from orders.selectors.desk.alert_groups import OpenAlerts, open_groups, values_at_risk
from orders.selectors.desk.approvals import ApprovalRow, approval_page, count_waiting
from orders.selectors.desk.at_risk import ValueAtRisk
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.desk.bulk import Progress, actions_since
from orders.selectors.desk.causes import OpenTime, open_times
from orders.selectors.desk.decisions import OpenDecision, count_open_decisions, open_decisions
from orders.selectors.desk.ended_pauses import EndedPause, ended_pauses
from orders.selectors.desk.held_agents import HeldAgent, held_agents
from orders.selectors.desk.last_acts import LastAct, last_acts
from orders.selectors.desk.order_notes import Note, notes_since
from orders.selectors.desk.pauses import Pauses, read_pauses
from orders.selectors.desk.priority_changes import PriorityChange, priority_changes
from orders.selectors.desk.snoozes import Snooze, snooze_of
from orders.vocabulary import AlertKind, ApprovalState, Outcome, StepStatus

HOURS = (8, 12, 24)
"""The ranges that one choice gives; the first is the default."""
LONGEST = timedelta(days=7)
PAGE_STAYS_OPEN = timedelta(hours=1)
"""How much longer a range may be that a page offered when it was opened."""
NOTE_SHOWN = timedelta(hours=24)
"""How long the latest note is shown on the overview, unless a newer one comes."""
MOST_TIMES = 100
SHOWN = 10
MOST_FIGURES = 200_000
"""Where each figure stops being counted."""

_FIGURES = """
    SELECT (SELECT count(*) FROM (
                SELECT FROM unnest(%(states)s::text[]) AS s(state)
                 CROSS JOIN LATERAL (
                       SELECT FROM orders_orderprocess AS p
                        WHERE p.process_state = s.state AND p.created_at >= %(since)s LIMIT %(most)s) AS placed
                 LIMIT %(most)s) AS few),
           (SELECT count(*) FROM (
                SELECT FROM orders_orderprocess
                 WHERE finished_at >= %(since)s AND process_state = 'processed' LIMIT %(most)s) AS few),
           (SELECT count(*) FROM (
                SELECT FROM orders_orderprocess
                 WHERE finished_at >= %(since)s AND process_state = 'compensated' LIMIT %(most)s) AS few),
           (SELECT count(DISTINCT order_id) FROM (
               (SELECT order_id FROM orders_alert
                 WHERE closed_at IS NULL AND opened_at >= %(since)s ORDER BY opened_at DESC LIMIT %(most)s)
                UNION ALL
               (SELECT a.order_id
                  FROM orders_alertgroup AS g
                 CROSS JOIN LATERAL (
                       SELECT order_id FROM orders_alert
                        WHERE group_id = g.id AND closed_at >= %(since)s AND opened_at >= %(since)s
                        ORDER BY closed_at DESC LIMIT %(most)s) AS a
                 WHERE g.last_at >= %(since)s)) AS opened)
"""
_STATES = ("pending", "processing", "processed", "error", "compensated")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Orders that were placed, processed, cancelled and failed in the range, each counted up to `MOST_FIGURES`.

    Those that failed needed a person, whatever became of them since.
    """

    placed: int
    processed: int
    cancelled: int
    failed: int


@dataclass(frozen=True, kw_only=True)
class OpenCause:
    """A cause that is open now, with its snooze, and why, if it is snoozed.

    `time` has the orders that it has hit since it began, and their money; None if there were too many causes to say.
    `at_risk` is of the orders whose alerts are open, or that wait for its agent now, as on the overview. `earlier` are
    the times in the range that have ended, the last begun first.
    """

    alerts: OpenAlerts
    at_risk: ValueAtRisk
    time: OpenTime | None
    snooze: Snooze | None
    snooze_reason: str = ""
    earlier: Sequence[OpenTime] = ()

    @property
    def since(self) -> datetime:
        """When it began. Alerts that were closed since do not make it younger, as in the list of what opened."""
        return self.time.began_at if self.time else self.alerts.first_at


@dataclass(frozen=True, kw_only=True)
class EndedCause:
    """A cause that is over, with each of its times in the range, the last begun first."""

    group: AlertGroup
    times: Sequence[OpenTime]


@dataclass(frozen=True, kw_only=True)
class CauseNote:
    """A note that somebody left on a cause."""

    group: AlertGroup
    at: datetime
    by: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """What waits for people. The counts are bounded, and the rest are the first of each."""

    decisions: int
    next_decisions: Sequence[OpenDecision]
    to_settle: int
    to_settle_orders: Sequence[UUID]
    failed_refunds: int
    failed_refund_orders: Sequence[UUID]
    approvals: int
    next_approvals: Sequence[ApprovalRow]

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits for anybody."""
        return not (self.decisions or self.to_settle or self.failed_refunds or self.approvals)


@dataclass(frozen=True, kw_only=True)
class Handover:
    """The range and what happened in it, what is open now, and the notes that were written in it, the newest first.

    `times` are those of all causes that were open in the range; a cause that is over is in `ended_causes`, and any
    other in `open` or `snoozed`. `notes` are those of who left a shift, `cause_notes` those on causes, and
    `order_notes` those on orders. `actions` are bulk actions that began or ended in the range, or are under way.
    """

    since: datetime
    until: datetime
    times: Sequence[OpenTime]
    has_more_times: bool
    open: Sequence[OpenCause]
    snoozed: Sequence[OpenCause]
    ended_causes: Sequence[EndedCause]
    actions: Sequence[Progress]
    priority_changes: Sequence[PriorityChange]
    agents: Sequence[HeldAgent]
    pauses: Pauses
    ended_pauses: Sequence[EndedPause]
    waiting: Waiting
    figures: Figures
    notes: Sequence[HandoverNote]
    cause_notes: Sequence[CauseNote]
    order_notes: Sequence[Note]

    @property
    def began(self) -> Sequence[OpenTime]:
        """The times that began in the range."""
        return [time for time in self.times if time.began_at >= self.since]

    @property
    def ended(self) -> Sequence[OpenTime]:
        """The times that have ended."""
        return [time for time in self.times if time.ended_at is not None]

    @property
    def has_notes(self) -> bool:
        """Whether anybody has left a note in the range, on whatever."""
        return bool(self.notes or self.cause_notes or self.order_notes)


def read_handover(*, since: datetime, now: datetime) -> Handover:
    """The hand-over of a range that ends now. About 30 statements."""
    read = open_times(since=since, until=now, limit=MOST_TIMES)
    times = read[:MOST_TIMES]
    causes = _open_causes(now, times)
    return Handover(
        since=since,
        until=now,
        times=times,
        has_more_times=len(read) > MOST_TIMES,
        open=[cause for cause in causes if cause.snooze is None],
        snoozed=[cause for cause in causes if cause.snooze is not None],
        ended_causes=_ended_causes(times, still_open={cause.alerts.group.pk for cause in causes}),
        actions=actions_since(since, now=now, limit=SHOWN),
        priority_changes=priority_changes(since),
        agents=held_agents(now=now),
        pauses=read_pauses(now=now),
        ended_pauses=ended_pauses(since=since, now=now),
        waiting=_waiting(now),
        figures=_figures(since),
        notes=list(HandoverNote.objects.filter(at__gte=since).order_by("-id")[:SHOWN]),
        cause_notes=_cause_notes(since),
        order_notes=notes_since(since),
    )


def latest_note(*, now: datetime) -> HandoverNote | None:
    """The note that the overview shows: the newest, if it is not older than `NOTE_SHOWN`. One query."""
    note = HandoverNote.objects.order_by("-id").first()
    return note if note is not None and note.at > now - NOTE_SHOWN else None


def refusal_of_range(since: datetime, *, now: datetime) -> str:
    """Why there is no hand-over since a time; empty if there is one."""
    if since >= now:
        return f"This is in the future. Choose a time before {now:%Y-%m-%d %H:%M} UTC."
    if since < now - LONGEST - PAGE_STAYS_OPEN:
        earliest = f"{now - LONGEST:%Y-%m-%d %H:%M} UTC"
        return f"A hand-over reaches back {LONGEST.days} days. Choose a time after {earliest}."
    return ""


def _open_causes(now: datetime, times: Sequence[OpenTime]) -> list[OpenCause]:
    still_open = {time.group.pk: time for time in times if time.is_open}
    causes = [
        (alerts, snooze_of(alerts.group, count=alerts.open, now=now)) for alerts in open_groups(now=now)
    ]
    values = values_at_risk([alerts for alerts, _ in causes]) if causes else {}
    last = last_acts((f"group {alerts.group.pk}", "snooze") for alerts, snooze in causes if snooze)
    return [
        OpenCause(
            alerts=alerts,
            at_risk=values.get(alerts.group.pk, ValueAtRisk()),
            time=still_open.get(alerts.group.pk),
            snooze=snooze,
            snooze_reason=last.get((f"group {alerts.group.pk}", "snooze"), LastAct()).reason,
            earlier=[time for time in times if time.group.pk == alerts.group.pk and not time.is_open],
        )
        for alerts, snooze in causes
    ]


def _ended_causes(times: Sequence[OpenTime], *, still_open: Container[int]) -> list[EndedCause]:
    """The causes that are over, the last ended first."""
    by_group: dict[int, list[OpenTime]] = {}
    for time in times:
        if time.group.pk not in still_open and not time.is_open:
            by_group.setdefault(time.group.pk, []).append(time)
    causes = [EndedCause(group=each[0].group, times=each) for each in by_group.values()]
    return sorted(causes, key=lambda cause: cause.times[0].ended_at or cause.times[0].began_at, reverse=True)


def _cause_notes(since: datetime) -> list[CauseNote]:
    """The newest notes on causes, among the last that were written."""
    newest = GroupNote.objects.select_related("group").order_by("-id")[:MOST_TIMES]
    return [
        CauseNote(group=note.group, at=note.at, by=note.by, text=note.text)
        for note in newest
        if note.at >= since
    ]


def _waiting(now: datetime) -> Waiting:
    to_settle = StepState.objects.filter(state=StepStatus.FAILED.value, outcome=Outcome.UNKNOWN.value)
    refunds = Alert.objects.filter(closed_at__isnull=True, kind=AlertKind.COMPENSATION_FAILED.value)
    newest = refunds.order_by("-opened_at").values_list("order_id", flat=True)[:SHOWN]
    return Waiting(
        decisions=count_open_decisions(now=now),
        next_decisions=open_decisions(after=None, limit=SHOWN, now=now).items,
        to_settle=bounded_count(to_settle),
        to_settle_orders=list(
            to_settle.order_by("agent", "name").values_list("process_id", flat=True)[:SHOWN]
        ),
        failed_refunds=bounded_count(refunds),
        failed_refund_orders=[order_id for order_id in newest if order_id],
        approvals=count_waiting(now=now),
        next_approvals=approval_page(state=ApprovalState.WAITING, now=now, limit=SHOWN).items,
    )


def _figures(since: datetime) -> Figures:
    row = fetch(_FIGURES, {"since": since, "states": list(_STATES), "most": MOST_FIGURES + 1})[0]
    placed, processed, cancelled, failed = row
    return Figures(placed=placed, processed=processed, cancelled=cancelled, failed=failed)
