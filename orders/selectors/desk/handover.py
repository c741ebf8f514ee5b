"""What a shift leaves the next one: what opened and ended, what is open now and who has it, and what waits for people.

Each part is read by an index and bounded, so that a page costs the same after a bad night.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from orders.engine.runtime.sql import fetch
from orders.models import Alert, AlertGroup, BulkAction, GroupNote, HandoverNote, StepState
from orders.selectors.desk.alert_groups import OpenAlerts, ValueAtRisk, open_groups, values_at_risk
from orders.selectors.desk.approvals import ApprovalRow, approval_page, count_waiting
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.desk.bulk import Progress, find_action
from orders.selectors.desk.causes import OpenTime, open_times
from orders.selectors.desk.decisions import OpenDecision, count_open_decisions, open_decisions
from orders.selectors.desk.ended_pauses import EndedPause, ended_pauses
from orders.selectors.desk.held_agents import HeldAgent, held_agents
from orders.selectors.desk.last_acts import LastAct, last_acts
from orders.selectors.desk.order_notes import Note, notes_since
from orders.selectors.desk.pauses import Pauses, read_pauses
from orders.selectors.desk.snoozes import Snooze, snooze_of
from orders.vocabulary import AlertKind, ApprovalState, BulkState, Outcome, StepStatus

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
    `at_risk` is of the orders whose alerts are open.
    """

    alerts: OpenAlerts
    at_risk: ValueAtRisk
    time: OpenTime | None
    snooze: Snooze | None
    snooze_reason: str = ""

    @property
    def since(self) -> datetime:
        """When it began. Alerts that were closed since do not make it younger, as in the list of what opened."""
        return self.time.began_at if self.time else self.alerts.first_at

    @property
    def money(self) -> Mapping[str, int]:
        """What the open orders are worth or, of an outage, those that waited, by currency in minor units."""
        return self.at_risk.money if self.alerts.has_orders or not self.time else self.time.money

    @property
    def more_money(self) -> bool:
        """Whether there are orders whose totals are not added up."""
        return self.at_risk.more if self.alerts.has_orders or not self.time else self.time.more_money


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

    `notes` are those of who left a shift, `cause_notes` those on causes, and `order_notes` those on orders.
    """

    since: datetime
    until: datetime
    began: Sequence[OpenTime]
    ended: Sequence[OpenTime]
    has_more_times: bool
    open: Sequence[OpenCause]
    snoozed: Sequence[OpenCause]
    actions: Sequence[Progress]
    agents: Sequence[HeldAgent]
    pauses: Pauses
    ended_pauses: Sequence[EndedPause]
    waiting: Waiting
    figures: Figures
    notes: Sequence[HandoverNote]
    cause_notes: Sequence[CauseNote]
    order_notes: Sequence[Note]


def read_handover(*, since: datetime, now: datetime) -> Handover:
    """The hand-over of a range that ends now. About 28 statements, and one more for each bulk action under way."""
    times = open_times(since=since, until=now, limit=MOST_TIMES)
    causes = _open_causes(now, times)
    return Handover(
        since=since,
        until=now,
        began=[time for time in times[:MOST_TIMES] if time.began_at >= since],
        ended=[time for time in times[:MOST_TIMES] if time.ended_at is not None],
        has_more_times=len(times) > MOST_TIMES,
        open=[cause for cause in causes if cause.snooze is None],
        snoozed=[cause for cause in causes if cause.snooze is not None],
        actions=_actions(now),
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
        )
        for alerts, snooze in causes
    ]


def _cause_notes(since: datetime) -> list[CauseNote]:
    """The newest notes on causes, among the last that were written."""
    newest = GroupNote.objects.select_related("group").order_by("-id")[:MOST_TIMES]
    return [
        CauseNote(group=note.group, at=note.at, by=note.by, text=note.text)
        for note in newest
        if note.at >= since
    ]


def _actions(now: datetime) -> list[Progress]:
    under_way = BulkAction.objects.filter(state__in=[BulkState.RUNNING.value, BulkState.PAUSED.value])
    newest = BulkAction.objects.order_by("-created_at").values("id")[: 10 * SHOWN]
    ids = under_way.filter(pk__in=newest).order_by("-id").values_list("id", flat=True)[:SHOWN]
    return [action for number in ids if (action := find_action(number, now=now)) is not None]


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
