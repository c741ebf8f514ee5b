"""What the API sends to operators about the system: its health, its agents, the outbox and the audit log."""

from rest_framework import serializers

from orders.api.representations import Out, StepName, page_of
from orders.selectors.desk.outbox import MessageRow
from orders.vocabulary import CircuitState, MessageChannel, MessageKind, MessageState
from orders.wording.health import PAGES
from orders.wording.skipped_messages import why_skipped

TONES = ["good", "warn", "bad"]


class ConcernOut(Out):
    """One thing that is wrong. `page` is the console's page that shows more of it."""

    severity = serializers.ChoiceField(choices=TONES[1:], source="tone")
    page = serializers.ChoiceField(choices=PAGES)
    message = serializers.CharField(source="sentence")


class OrderFiguresOut(Out):
    """How many orders there are, and for how many seconds the oldest has waited; null if there is none.

    `processed` and `compensated` are of the last 24 hours, each counted up to 200,001. `queued` are submissions on the
    queue and `set_aside` those that could not be inserted, each counted up to 10,001. `oldest_ready` has waited only
    for a scheduler, `oldest_pending` for whatever reason. `per_minute` is the mean of the last ten minutes.
    """

    pending = serializers.IntegerField()
    processing = serializers.IntegerField()
    error = serializers.IntegerField()
    processed = serializers.IntegerField()
    compensated = serializers.IntegerField()
    queued = serializers.IntegerField()
    set_aside = serializers.IntegerField()
    oldest_pending = serializers.FloatField(allow_null=True)
    oldest_ready = serializers.FloatField(allow_null=True)
    oldest_queued = serializers.FloatField(allow_null=True)
    per_minute = serializers.FloatField()


class TimeToDoneOut(Out):
    """How many seconds orders take from being placed to being processed: half of them at most `p50`, and 95% at most
    `p95`. The `sample` are those that were processed in the last hour and those that have not ended, which count with
    the time that they have waited. The figures come from the last whole minute; without any, they are null."""

    sample = serializers.IntegerField()
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)


class StatusOut(Out):
    """Whether the system is healthy, and the numbers behind that. `health` is that of the worst concern, or `good`.

    The supervisor last finished a sweep at `swept_at`. Open alerts, decisions and requests for approval
    are counted up to 10,001.
    """

    at = serializers.DateTimeField()
    health = serializers.ChoiceField(choices=TONES)
    concerns = ConcernOut(many=True)
    orders = OrderFiguresOut()
    time_to_done = TimeToDoneOut()
    open_alerts = serializers.IntegerField()
    open_decisions = serializers.IntegerField()
    open_approvals = serializers.IntegerField()
    swept_at = serializers.DateTimeField(allow_null=True)


class SweepTotalsOut(Out):
    """What sweeps have found and done: `overdue` orders, of which some recovered and some are in Error now, and steps
    that timed out."""

    overdue = serializers.IntegerField(source="found")
    recovered = serializers.IntegerField()
    escalated = serializers.IntegerField()
    steps_timed_out = serializers.IntegerField(source="steps")


class SweepOut(SweepTotalsOut):
    """A sweep that found something."""

    at = serializers.DateTimeField()
    leader = serializers.CharField(source="holder")
    term = serializers.IntegerField()
    steps_timed_out = serializers.IntegerField()


class SupervisorOut(Out):
    """The supervisor. `leader` is null while nobody leads. With `is_late` it is not doing its work.

    `last` is what the last sweep found and `last_hour` what those of an hour did. `overdue_orders` and `overdue_steps`
    are overdue now, each counted up to 10,001, the longest for `lag` seconds. `sweeps` are the newest that found
    something.
    """

    leader = serializers.CharField(allow_null=True)
    term = serializers.IntegerField()
    expires_at = serializers.DateTimeField(allow_null=True)
    swept_at = serializers.DateTimeField(allow_null=True)
    is_late = serializers.BooleanField(source="late")
    period = serializers.FloatField()
    overdue_orders = serializers.IntegerField()
    overdue_steps = serializers.IntegerField()
    lag = serializers.FloatField(allow_null=True)
    last = SweepTotalsOut()
    last_hour = SweepTotalsOut(source="hour")
    sweeps = SweepOut(many=True)


class AgentInstanceOut(Out):
    """A process that runs an agent. It is alive if it was seen lately. Since `quarantined_at` it takes no requests.

    `calls` and `failed_calls` are since it started, `recent_calls`, `recent_failures` and `p95_seconds` of the last
    minute.
    """

    name = serializers.CharField()
    started_at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField()
    alive = serializers.BooleanField()
    quarantined_at = serializers.DateTimeField(allow_null=True)
    capacity = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    calls = serializers.IntegerField()
    failed_calls = serializers.IntegerField()
    mean_seconds = serializers.FloatField(allow_null=True)
    p95_seconds = serializers.FloatField(allow_null=True)
    recent_calls = serializers.IntegerField()
    recent_failures = serializers.IntegerField()


class AgentOut(Out):
    """An agent. `circuit` is the state of its circuit: the forced one while an operator forces it (`is_forced`).

    `held_by` and `held_reason` are those of the last operator who paused or forced it. `cause_code` and `cause_message`
    are the failure that opened the circuit at `opened_at`, and the next probe is at `probe_at`. `ramp` is the share of
    the usual load that is let through, from 0 to 1, and `rate` the most calls a second. `waiting` steps wait for it,
    counted up to 10,001. Of its `requests`, processes hold `in_hand`, and the oldest other one has waited
    `oldest_seconds`. The figures of calls are of the last minute, and `p95_seconds` is the slowest process's.
    """

    name = serializers.CharField()
    circuit = serializers.ChoiceField(choices=list(CircuitState), source="state")
    is_down = serializers.BooleanField(help_text="Whether no process runs it.")
    is_paused = serializers.BooleanField(source="circuit.paused")
    is_forced = serializers.BooleanField()
    forced_until = serializers.DateTimeField(source="circuit.forced_until", allow_null=True)
    held_by = serializers.CharField(allow_blank=True)
    held_reason = serializers.CharField(allow_blank=True)
    cause_code = serializers.CharField(source="circuit.cause_code", allow_blank=True)
    cause_message = serializers.CharField(source="circuit.cause_message", allow_blank=True)
    opened_at = serializers.DateTimeField(source="circuit.opened_at", allow_null=True)
    probe_at = serializers.DateTimeField(source="circuit.probe_at", allow_null=True)
    ramp = serializers.FloatField()
    rate = serializers.FloatField(source="circuit.rate_limit", allow_null=True)
    set_rate = serializers.FloatField(source="circuit.set_rate", allow_null=True)
    set_capacity = serializers.IntegerField(source="circuit.set_capacity", allow_null=True)
    waiting = serializers.IntegerField()
    requests = serializers.IntegerField()
    in_hand = serializers.IntegerField()
    oldest_seconds = serializers.FloatField(allow_null=True)
    capacity = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    recent_calls = serializers.IntegerField()
    recent_failures = serializers.IntegerField()
    p95_seconds = serializers.FloatField(source="p95", allow_null=True)
    instances = AgentInstanceOut(many=True)


class AgentListOut(Out):
    """All agents, by name."""

    results = AgentOut(many=True)


class OutlookOut(Out):
    """What becomes of the orders that wait for an agent.

    `pace` is in steps a second, null while it takes no calls, or if none succeeded in the last minute. `late` orders
    are late already. `misses` will be, and are worth `value`, in minor units by currency; with no pace, only those are
    counted that will be late within an hour. The steps of `given_up` orders will have waited for as long as they may.
    """

    agent = serializers.CharField()
    pace = serializers.FloatField(allow_null=True)
    waiting = serializers.IntegerField()
    late = serializers.IntegerField()
    misses = serializers.IntegerField()
    first_miss = serializers.DateTimeField(allow_null=True)
    value = serializers.DictField(child=serializers.IntegerField())
    given_up = serializers.IntegerField()
    first_given_up = serializers.DateTimeField(allow_null=True)


class ComingMissOut(Out):
    """An order that will be late.

    It is number `turn` in the queue of its `agent`, which comes at `turn_at`, null if the agent has no pace. What is
    missed by then is the time promised to its customer, or the time until which its step may wait, or both.
    """

    order_id = serializers.UUIDField()
    title = serializers.CharField(allow_blank=True)
    total = serializers.IntegerField(allow_null=True)
    currency = serializers.CharField(allow_blank=True)
    agent = serializers.CharField()
    step = StepName()
    turn = serializers.IntegerField()
    turn_at = serializers.DateTimeField(allow_null=True)
    promised_by = serializers.DateTimeField(allow_null=True)
    given_up_at = serializers.DateTimeField(allow_null=True)


class DeadlinesOut(Out):
    """Which orders will be late."""

    agents = OutlookOut(many=True)
    orders = ComingMissOut(many=True)


class WorkflowStepOut(Out):
    """A step of a workflow, and how many orders are there: in flight, waiting for its agent, put off until a time, and
    failed, each counted up to 1,000. It may have a condition, or run for each item of a list."""

    name = StepName()
    agent = serializers.CharField(allow_blank=True)
    operation = serializers.CharField(allow_blank=True)
    after = serializers.ListField(child=StepName())
    has_condition = serializers.BooleanField()
    has_items = serializers.BooleanField()
    running = serializers.IntegerField(source="counts.running")
    waiting = serializers.IntegerField(source="counts.waiting")
    put_off = serializers.IntegerField(source="counts.put_off")
    failed = serializers.IntegerField(source="counts.failed")


class WorkflowOut(Out):
    """A version of a workflow."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    steps = WorkflowStepOut(many=True, source="nodes")


class WorkflowListOut(Out):
    """All workflows of this release, the newest version first."""

    results = WorkflowOut(many=True)


class OutgoingMessageOut(Out):
    """An email, or a call of the alerts' webhook. The local part of a customer's email address is not shown.

    `due_at` is when it is tried next, null once it has ended. `error` is that of the last attempt. `skipped_because`
    says why it was not needed, null unless it is `skipped`. `group` is the alert group that it is about.
    """

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=list(MessageKind))
    channel = serializers.ChoiceField(choices=list(MessageChannel))
    recipient = serializers.CharField()
    state = serializers.ChoiceField(choices=list(MessageState))
    attempts = serializers.IntegerField()
    error = serializers.CharField(allow_blank=True)
    skipped_because = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    group = serializers.IntegerField(source="group_id", allow_null=True)
    order_id = serializers.UUIDField(allow_null=True)

    def get_skipped_because(self, message: MessageRow) -> str | None:
        """Why it was skipped."""
        if not message.is_skipped:
            return None
        return why_skipped(kind=message.kind, channel=message.channel, reason=message.skipped_because)


OutgoingMessagePageOut = page_of(OutgoingMessageOut, "A page of the outbox, newest first.")


class AuditedChangeOut(Out):
    """A field that an act changed, as text; null where it was absent."""

    field = serializers.CharField()
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)


class AuditEntryOut(Out):
    """An act, carried out or, if it was not `allowed`, refused. `result` says in a sentence what became of it."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    ip_address = serializers.CharField(allow_blank=True)
    act = serializers.CharField()
    target = serializers.CharField(allow_blank=True)
    allowed = serializers.BooleanField()
    result = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    changes = AuditedChangeOut(many=True)


AuditPageOut = page_of(
    AuditEntryOut, "A page of the audit log, newest first. It may have fewer entries than you asked for."
)
