"""The invariants of the system, checked from outside: by SQL and against the remote services' own ledgers.

Each function raises `AssertionError` with the orders that break its invariant. The numbers are those of
docs/failure-modes.md.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from orders.engine.contracts import Workflow
from orders.engine.runtime.sql import fetch
from orders.models import (
    AgentReply,
    AgentRequest,
    Alert,
    Circuit,
    Event,
    LeaderLease,
    OrderProcess,
    SetAside,
    StepState,
    SubmissionMessage,
)
from tests.support import replay
from tests.support.histories import attempts_only_grow, compensated_in_reverse, predecessors_first

Ledgers = Mapping[str, Sequence[Mapping[str, Any]]]
FORWARD = {"reserve": "warehouse", "authorise": "payments", "create": "carrier", "capture": "payments"}
ONE_OF_EACH: Mapping[str, int] = dict.fromkeys(FORWARD, 1)
"""The effects of a processed order of the shop."""

ONCE_AN_ATTEMPT = frozenset(
    {
        *("step_started", "step_completed", "step_refused", "step_declined", "step_failed", "step_timed_out"),
        *("compensation_started", "step_compensated", "compensation_failed", "compensation_timed_out"),
        *("step_recalled", "step_renewed"),
    }
)
"""The transitions that an attempt makes at most once, whichever role makes them."""
GRANTS = frozenset(
    {
        *(
            "resubmitted",
            "paid_again",
            "corrected",
            "step_timed_out",
            "compensation_timed_out",
            "step_recalled",
        ),
        *("step_deferred", "awaiting", "edited", "step_renewed"),
    }
)
"""The events that allow another attempt. A compensation's first attempt is also allowed, and one after an order's own
complete-by."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits for the invariants about amounts. Times are in seconds."""

    threshold: int = 3
    compensation_patience: int = 2
    calls_per_attempt: int = 100
    retries_per_second: float = 100.0
    """The budget refills at this rate and holds two seconds' worth."""
    ends_within: float = 180.0
    calm_since: datetime | None = None
    """When the last fault ended, by the database's clock; I11 is not checked without it."""
    dead_rows: int = 200_000
    snapshot: float = 60.0


def check_when_quiet(
    *,
    acknowledged: Collection[UUID],
    workflow: Workflow,
    ledgers: Ledgers,
    limits: Limits | None = None,
    all_effects: Mapping[str, int] = ONE_OF_EACH,
    others: Collection[UUID] = (),
) -> None:
    """Checks everything that must hold once no work is left: each order is finished, compensated or escalated.

    `all_effects` says how often a processed order has each effect. `others` are the orders of other businesses.
    """
    limits = limits or Limits()
    every_order_ended_once([*acknowledged, *others])
    net_effects(acknowledged, ledgers, all_effects)
    predecessors_first(acknowledged, workflow)
    attempts_only_grow(acknowledged)
    one_instance_per_transition(acknowledged)
    one_supervisor_at_a_time()
    nothing_is_in_flight()
    calls_within_limits(acknowledged, workflow, limits)
    every_error_has_one_alert()
    outages_are_reported_while_they_last()
    compensated_in_reverse(acknowledged, workflow)
    ended_in_time(acknowledged, limits)
    events_give_the_state(acknowledged)
    channels_are_empty()
    nothing_piles_up(limits)


def every_order_ended_once(acknowledged: Collection[UUID]) -> None:
    """I1: each acknowledged order exists once, and is finished, compensated, in Error or set aside."""
    states = dict(OrderProcess.objects.values_list("order_id", "process_state"))
    aside = set(SetAside.objects.filter(replayed_at=None).values_list("order_id", flat=True))
    ended = {"processed", "compensated", "error"}
    wrong = {
        order_id: states.get(order_id, "missing")
        for order_id in acknowledged
        if (states.get(order_id) not in ended) == (order_id not in aside)
    }
    assert not wrong, f"I1: not ended, or ended and set aside: {wrong}"
    assert states.keys() <= set(acknowledged), f"I1: nobody ordered {states.keys() - set(acknowledged)}"


def net_effects(
    acknowledged: Collection[UUID], ledgers: Ledgers, all_effects: Mapping[str, int] = ONE_OF_EACH
) -> None:
    """I2: at most one effect for a key; all of them for a Processed order, none left for a Compensated one."""
    for service, entries in ledgers.items():
        doubled = {
            key: times for key, times in Counter(entry["key"] for entry in entries).items() if times > 1
        }
        assert not doubled, f"I2: {service} did these more than once: {doubled}"
    strangers = {entry["order_id"] for entries in ledgers.values() for entry in entries} - {
        str(order_id) for order_id in acknowledged
    }
    assert not strangers, f"I2: effects for unknown orders: {strangers}"
    done: dict[str, Counter[str]] = {str(order_id): Counter() for order_id in acknowledged}
    reversed_: dict[str, Counter[str]] = {str(order_id): Counter() for order_id in acknowledged}
    operation_of = {entry["key"]: entry["operation"] for entries in ledgers.values() for entry in entries}
    for entries in ledgers.values():
        for entry in entries:
            if entry["operation"] in all_effects:
                done[entry["order_id"]][entry["operation"]] += 1
            else:
                forward = operation_of[entry["key"].rpartition("/")[0]]
                reversed_[entry["order_id"]][forward] += 1
    for process in OrderProcess.objects.filter(order_id__in=list(acknowledged)):
        net = done[str(process.order_id)].copy()
        net.subtract(reversed_[str(process.order_id)])
        if process.process_state == "processed":
            assert net == Counter(all_effects), f"I2: {process.order_id} is Processed with {net}"
        elif process.process_state == "compensated":
            assert not +net and not -net, f"I2: {process.order_id} is Compensated with {net}"
        else:
            assert not -net and net <= Counter(all_effects), f"I2: {process.order_id} has {net}"


def one_instance_per_transition(acknowledged: Collection[UUID]) -> None:
    """I5: each transition of an attempt was made once, by one instance: nobody else was working on the order."""
    rows = Event.objects.filter(order_id__in=list(acknowledged), kind__in=ONCE_AN_ATTEMPT)
    times_made = Counter(rows.values_list("order_id", "kind", "step", "attempt"))
    doubled = {transition: times for transition, times in times_made.items() if times > 1}
    assert not doubled, f"I5: made more than once: {doubled}"


def one_supervisor_at_a_time() -> None:
    """I6: two supervisors' sweeps never interleave within a term: a successor has a term of its own."""
    actors = Event.objects.filter(actor_kind="supervisor").order_by("id").values_list("actor_name", flat=True)
    turns = 0
    last = ""
    for actor in actors:
        turns += actor != last
        last = actor
    terms = sum(LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).values_list("term", flat=True))
    assert turns <= terms, f"I6: supervisors took {turns} turns in {terms} terms"


def nothing_is_in_flight() -> None:
    """I7, when quiet: nothing runs, since everything that runs has a complete-by that was met or has passed."""
    running = list(StepState.objects.exclude(complete_by=None).values_list("process_id", "name", "state"))
    assert not running, f"I7: still in flight: {running}"


def calls_within_limits(acknowledged: Collection[UUID], workflow: Workflow, limits: Limits) -> None:
    """I8: no step is tried more often than its limits allow, nor all together faster than the retry budget allows."""
    rows = list(
        Event.objects.filter(order_id__in=list(acknowledged))
        .order_by("id")
        .values_list("order_id", "kind", "step", "attempt", "detail", "at")
    )
    granted: Counter[tuple[UUID, str]] = Counter()
    turned: Counter[UUID] = Counter()
    failed: set[tuple[UUID, str, bool]] = set()
    retries: list[datetime] = []
    for order_id, kind, step, attempt, detail, at in rows:
        this_way = order_id, step, kind.startswith("compensation_")
        if kind in ("step_timed_out", "compensation_timed_out"):
            failed.discard(this_way)
            failed |= {this_way} if detail["failures"] > 0 else set()
        elif kind == "resubmitted":
            failed -= {(order_id, step, False), (order_id, step, True)}
        if kind in GRANTS:
            granted[order_id, step] += 1
        elif kind == "compensation_requested":
            turned[order_id] += 1
        elif kind in ("step_started", "compensation_started"):
            allowed = 1 + granted[order_id, step] + turned[order_id]
            assert attempt <= allowed, f"I8: {order_id} {step}: attempt {attempt}, {allowed} allowed"
            if this_way in failed:
                retries.append(at)
        if kind in ("step_timed_out", "compensation_timed_out"):
            declared = workflow.step_of(step)
            most = limits.threshold + declared.remedy.extended_waits
            most = most if kind == "step_timed_out" else limits.threshold * limits.compensation_patience
            assert detail["failures"] <= most, (
                f"I8: {order_id} {step}: {detail['failures']} failures, {most} allowed"
            )
        calls = detail.get("calls", 1)
        assert calls <= limits.calls_per_attempt, f"I8: {order_id} {step}: {calls} calls in one attempt"
    retries_within_budget(sorted(retries), limits)


def retries_within_budget(retries: Sequence[datetime], limits: Limits) -> None:
    """I8: a bucket of tokens that refills with time was never overdrawn."""
    most = 2 * limits.retries_per_second
    tokens, before = most, None
    for at in retries:
        if before is not None:
            tokens += (at - before).total_seconds() * limits.retries_per_second
        tokens, before = min(tokens, most) - 1, at
        assert tokens >= 0, f"I8: more retries than the budget allows, at {at}"


def outages_are_reported_while_they_last() -> None:
    """I9, for outages: an agent has an open alert exactly as long as its circuit is open."""
    with_alert = set(
        Alert.objects.filter(kind="outage", closed_at=None)
        .exclude(code="no_host")
        .values_list("agent", flat=True)
    )
    closed = set(Circuit.objects.filter(state="closed").values_list("agent", flat=True))
    out = set(Circuit.objects.exclude(state="closed").filter(forced="").values_list("agent", flat=True))
    assert not with_alert & closed, f"I9: an open alert for an outage that is over: {with_alert & closed}"
    assert not out - with_alert, f"I9: an outage without an alert: {out - with_alert}"


def every_error_has_one_alert() -> None:
    """I9: every order in Error and every set-aside submission has exactly one open alert; nothing else has one."""
    in_error = set(OrderProcess.objects.filter(process_state="error").values_list("order_id", flat=True))
    in_error |= set(SetAside.objects.filter(replayed_at=None).values_list("order_id", flat=True))
    open_alerts = Alert.objects.filter(closed_at=None, order_id__isnull=False)
    alerts = Counter(open_alerts.values_list("order_id", flat=True))
    assert alerts == Counter(in_error), f"I9: in Error {in_error}, alerts {alerts}"


def ended_in_time(acknowledged: Collection[UUID], limits: Limits) -> None:
    """I11: every order has ended within P4's bound, counted from its arrival or from the end of the last fault."""
    if limits.calm_since is None:
        return
    kinds = ("processed", "compensated", "error")
    late = {}
    arrived = dict(
        OrderProcess.objects.filter(order_id__in=list(acknowledged)).values_list("order_id", "created_at")
    )
    ends: dict[UUID, datetime] = {}
    acts: dict[UUID, datetime] = {}
    rows = Event.objects.filter(order_id__in=list(acknowledged)).order_by("id")
    for order_id, kind, at in rows.values_list("order_id", "kind", "at"):
        if kind in kinds:
            ends[order_id] = at
        elif kind in ("resubmitted", "compensation_requested", "paid_again", "corrected", "step_declined"):
            acts[order_id] = at
    for order_id, begun in arrived.items():
        since = max(begun, limits.calm_since, acts.get(order_id, begun))
        if order_id not in ends or ends[order_id] > since + timedelta(seconds=limits.ends_within):
            late[order_id] = ends.get(order_id)
    assert not late, f"I11: not ended within {limits.ends_within} s: {late}"


def events_give_the_state(acknowledged: Collection[UUID]) -> None:
    """I12: the history of each order, replayed from the start, gives its stored state."""
    replayed = replay.replayed(acknowledged)
    stored = replay.stored(acknowledged)
    wrong = {
        order_id: (replayed.get(order_id), state)
        for order_id, state in stored.items()
        if replayed.get(order_id) != state
    }
    assert not wrong, f"I12: (replayed, stored): {wrong}"


def nothing_piles_up(limits: Limits) -> None:
    """I13: dead rows are cleaned up, and nobody holds an old snapshot that would prevent it."""
    dead = dict(
        fetch("SELECT relname, n_dead_tup FROM pg_stat_user_tables WHERE n_dead_tup > %s", [limits.dead_rows])
    )
    assert not dead, f"I13: dead rows: {dead}"
    old = fetch(
        """
        SELECT pid, application_name, state FROM pg_stat_activity
         WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
           AND xact_start < clock_timestamp() - %s * interval '1 second'
        """,
        [limits.snapshot],
    )
    assert not old, f"I13: old snapshots: {old}"


def channels_are_empty() -> None:
    """I13: when quiet, no message is left in the submission, request and reply channels."""
    messages = {
        model.__name__: model.objects.count()
        for model in (SubmissionMessage, AgentRequest, AgentReply)
        if model.objects.exists()
    }
    assert not messages, f"I13: messages left: {messages}"
