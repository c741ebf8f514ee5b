"""The system's health: alerts and their groups, the supervisor's lease, the agents' heartbeats and circuits."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from orders.models.choices import choices
from orders.vocabulary import AlertKind, CircuitState

ABOUT_A_ROLE = [kind.value for kind in AlertKind if not kind.has_orders and kind is not AlertKind.OUTAGE]

LONGEST_TICKET_URL = 500


class AlertGroup(models.Model):
    """Alerts with one cause, which operators acknowledge, annotate and resubmit together.

    `pattern` is the alerts' message without the parts that differ from order to order. `orders.engine.alerts` creates
    groups; `orders.services.operators.alerts` records who acknowledged them, `causes` who owns them, and `snoozes`
    until when they are out of sight: until `snoozed_until`, or until `snooze_most` alerts are open.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=20, choices=choices(AlertKind))
    agent = models.CharField(max_length=60, blank=True)
    code = models.CharField(max_length=60, help_text="the error's class")
    pattern = models.CharField(max_length=200)
    first_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=120, blank=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    owned_at = models.DateTimeField(null=True, help_text="since when the owner has it")
    ticket_url = models.CharField(max_length=LONGEST_TICKET_URL, blank=True, db_default="")
    snoozed_at = models.DateTimeField(null=True)
    snoozed_by = models.CharField(max_length=120, blank=True, db_default="")
    snoozed_until = models.DateTimeField(null=True, help_text="null unless it is snoozed")
    snooze_most = models.PositiveIntegerField(
        null=True, help_text="it comes back when so many alerts are open"
    )
    woken_at = models.DateTimeField(null=True, help_text="when it last came back by itself")
    woken_why = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "agent", "code", "pattern"], name="one_group_per_cause"),
            models.CheckConstraint(
                condition=Q(snoozed_until__isnull=True, snoozed_at__isnull=True, snooze_most__isnull=True)
                | (Q(snoozed_until__isnull=False, snoozed_at__isnull=False) & ~Q(snoozed_by="")),
                name="a_snoozed_group_says_who_and_until_when",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.agent} {self.code}: {self.pattern}"

    @property
    def owner_name(self) -> str:
        """The account of its owner; empty if nobody owns it."""
        return self.owner.get_username() if self.owner else ""


class GroupNote(models.Model):
    """An operator's note on an alert group, added by `orders.services.operators.alerts`."""

    id = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(AlertGroup, on_delete=models.CASCADE, related_name="notes")
    at = models.DateTimeField(db_default=Now())
    by = models.CharField(max_length=120)
    text = models.TextField()

    def __str__(self) -> str:
        return f"{self.by}: {self.text}"


class Alert(models.Model):
    """A failure that needs an operator (O1). An order has at most one open alert.

    An outage alert is about an agent rather than an order: `order_id` is null, and an agent has at most one open. An
    alert about a role, or about a version of a workflow, has no order either, and names it in `subject`.
    `orders.engine.alerts` opens and closes alerts; `orders.services.operators.notifications` sets `notified_at`.
    """

    id = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(AlertGroup, on_delete=models.PROTECT, related_name="alerts")
    order_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=20, choices=choices(AlertKind))
    step = models.CharField(max_length=60, blank=True)
    agent = models.CharField(max_length=60, blank=True)
    subject = models.CharField(
        max_length=80, blank=True, db_default="", help_text="a role, or a version of a workflow"
    )
    code = models.CharField(max_length=60, help_text="the error's class")
    message = models.TextField()
    opened_at = models.DateTimeField(db_default=Now())
    notified_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=120, blank=True)
    resolution = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["-opened_at"], condition=Q(closed_at__isnull=True), name="alert_open"),
            models.Index(
                fields=["group", "-opened_at"],
                condition=Q(closed_at__isnull=True),
                name="alert_open_by_group",
            ),
            models.Index(fields=["group", "-closed_at"], name="alert_by_group"),
            models.Index(fields=["order_id"], name="alert_by_order"),
            models.Index(fields=["opened_at"], name="alert_by_opening"),
            models.Index(
                fields=["id"],
                condition=Q(notified_at__isnull=True, closed_at__isnull=True),
                name="alert_unnotified",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["order_id"], condition=Q(closed_at__isnull=True), name="one_open_alert_per_order"
            ),
            models.UniqueConstraint(
                fields=["agent"],
                condition=Q(closed_at__isnull=True, kind=AlertKind.OUTAGE.value),
                name="one_open_outage_per_agent",
            ),
            models.UniqueConstraint(
                fields=["subject", "kind", "code"],
                condition=Q(closed_at__isnull=True, order_id__isnull=True) & ~Q(subject=""),
                name="one_open_alert_per_subject",
            ),
            models.CheckConstraint(
                condition=Q(kind=AlertKind.OUTAGE.value, order_id__isnull=True, subject="")
                | (Q(kind__in=ABOUT_A_ROLE, order_id__isnull=True) & ~Q(subject=""))
                | (~Q(kind__in=[AlertKind.OUTAGE.value, *ABOUT_A_ROLE]) & Q(order_id__isnull=False)),
                name="an_alert_has_one_subject",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.order_id or self.agent or self.subject}"


class LeaderLease(models.Model):
    """The lease of the leading supervisor (V6).

    Each of a leader's writes carries its term, and a write with an older term changes nothing (I6). Only
    `orders.engine.supervisor.leadership` writes it.
    """

    SUPERVISOR = "supervisor"

    name = models.CharField(max_length=40, primary_key=True)
    holder = models.CharField(max_length=80, null=True)
    term = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    swept_at = models.DateTimeField(null=True)
    last_sweep = models.JSONField(default=dict, help_text="what the last sweep found and did")

    def __str__(self) -> str:
        return f"{self.name}: {self.holder} (term {self.term})"


class SweepRecord(models.Model):
    """A sweep of the supervisor that found something. `orders.engine.supervisor.leadership` keeps only the newest."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    holder = models.CharField(max_length=80)
    term = models.PositiveBigIntegerField()
    found = models.PositiveIntegerField(help_text="orders that were overdue or had an overdue step")
    recovered = models.PositiveIntegerField(help_text="of those, the orders to be tried again or compensated")
    escalated = models.PositiveIntegerField(help_text="of those, the orders put into Error")
    steps_timed_out = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} term {self.term}: {self.found}"


class AgentInstance(models.Model):
    """One agent in one running process, as of its last heartbeat (A9).

    `orders.engine.agent_host.heartbeat` writes it, and `orders.engine.circuits` what is counted in a window and the
    quarantine of a host that fails where others succeed.
    """

    id = models.BigAutoField(primary_key=True)
    instance = models.CharField(max_length=80)
    agent = models.CharField(max_length=60)
    capacity = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField(default=0)
    calls = models.PositiveBigIntegerField(default=0)
    failed_calls = models.PositiveBigIntegerField(default=0)
    mean_seconds = models.FloatField(null=True, help_text="moving average of a call's duration")
    p95_seconds = models.FloatField(null=True, help_text="of the calls of the last minute")
    recent_calls = models.PositiveIntegerField(default=0, help_text="calls of the last minute")
    recent_failures = models.PositiveIntegerField(default=0, help_text="failed calls of the last minute")
    window_at = models.DateTimeField(null=True, help_text="when the counting of window_* began")
    window_calls = models.PositiveIntegerField(db_default=0)
    window_failures = models.PositiveIntegerField(db_default=0)
    quarantined_at = models.DateTimeField(
        null=True, help_text="since when its calls fail while others' succeed"
    )
    probe_at = models.DateTimeField(null=True, help_text="in quarantine: when it may make its next call")
    probes = models.PositiveIntegerField(db_default=0, help_text="calls that have failed in quarantine")
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["instance", "agent"], name="one_row_per_instance")]

    def __str__(self) -> str:
        return f"{self.agent} at {self.instance}"


class RoleInstance(models.Model):
    """A running process of a role, as of its last heartbeat. `orders.engine.role_health` writes it.

    `versions` are the workflows that it runs, each as [name, version, fingerprint]; `troubles` are what its open alerts
    are about, each as {kind, subject, code}. `progressed_at` is when it last completed a pass. `release` is that of its
    code; "" if it is from before releases were recorded.
    """

    instance = models.CharField(max_length=80, primary_key=True)
    role = models.CharField(max_length=12)
    release = models.CharField(max_length=40, db_default="")
    versions = models.JSONField(default=list)
    troubles = models.JSONField(default=list)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    progressed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.instance


class RetentionFailure(models.Model):
    """A part of a periodic job that failed when it last ran. `orders.retention` writes it; a success deletes it."""

    part = models.CharField(max_length=60, primary_key=True)
    job = models.CharField(max_length=40)
    error = models.CharField(max_length=300)
    since = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.part}: {self.error}"


class Circuit(models.Model):
    """The circuit breaker of one agent, shared by all its instances and all schedulers (A8).

    `orders.engine.circuits.rules` draws the states and decides the transitions; only `orders.engine.circuits` writes
    it. `window_*` count the calls of the present window. While `forced` is set, an operator has fixed the state until
    `forced_until`. A paused agent is sent nothing new. The limits that an operator has set stay until they are taken
    away.
    """

    agent = models.CharField(max_length=60, primary_key=True)
    state = models.CharField(
        max_length=9, default=CircuitState.CLOSED.value, help_text="closed, open or half_open"
    )
    since = models.DateTimeField(db_default=Now(), help_text="when the present state began")
    openings = models.PositiveIntegerField(default=0, help_text="times it opened without closing in between")
    cause_code = models.CharField(max_length=60, blank=True)
    cause_message = models.TextField(blank=True)
    opened_at = models.DateTimeField(null=True, help_text="when the present, or the last, outage began")
    closed_at = models.DateTimeField(null=True, help_text="when the last outage ended; its ramp begins then")
    probe_at = models.DateTimeField(
        null=True, help_text="open: when the next probe is due; half open: when its probe is given up"
    )
    window_at = models.DateTimeField(null=True)
    window_calls = models.PositiveIntegerField(default=0)
    window_failures = models.PositiveIntegerField(default=0)
    window_orders = models.JSONField(db_default=[], help_text="some orders whose calls failed in the window")
    succeeded_at = models.DateTimeField(null=True, help_text="when a call last succeeded")
    rate = models.FloatField(null=True, help_text="the most calls per second; null for no limit")
    set_rate = models.FloatField(null=True, help_text="the same, by an operator; null for the agent's own")
    set_capacity = models.PositiveIntegerField(
        null=True,
        help_text="the most requests outstanding at once, by an operator; null for what its hosts can take",
    )
    tokens = models.FloatField(default=0.0, help_text="calls that the rate allows now")
    tokens_at = models.DateTimeField(null=True)
    forced = models.CharField(max_length=6, blank=True, help_text="open or closed, by an operator")
    forced_until = models.DateTimeField(null=True)
    paused = models.BooleanField(default=False)
    held_by = models.CharField(max_length=120, blank=True, help_text="who paused or forced it")
    held_reason = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in CircuitState]), name="circuit_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(forced__in=["", "open", "closed"]), name="circuit_force_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state="closed") | Q(probe_at__isnull=False), name="an_open_circuit_is_probed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent}: {self.state}"


class RetryBudget(models.Model):
    """How many retries all roles together may start now: a token bucket that refills with time (I8).

    Only `orders.engine.circuits` writes it.
    """

    name = models.CharField(max_length=40, primary_key=True)
    tokens = models.FloatField()
    refilled_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.name}: {self.tokens:.1f}"
