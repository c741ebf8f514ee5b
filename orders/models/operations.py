"""What operators look at: alerts, the supervisor's lease, the agents' heartbeats."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class AlertKind(models.TextChoices):
    """What an operator is asked to look at."""

    STEP_FAILED = "step_failed", "a step failed for good"
    COMPENSATION_FAILED = "compensation_failed", "an undo failed for good"
    ORDER_OVERRAN = "order_overran", "the order kept passing its complete-by"
    UNPROCESSABLE = "unprocessable", "the order cannot be processed as it is stored"
    SET_ASIDE = "set_aside", "a submission can never be inserted"


class Alert(models.Model):
    """The event that alerts an operator (O1). An order has at most one open alert."""

    id = models.BigAutoField(primary_key=True)
    order_id = models.UUIDField()
    kind = models.CharField(max_length=20, choices=AlertKind)
    step = models.CharField(max_length=60, blank=True)
    agent = models.CharField(max_length=60, blank=True)
    code = models.CharField(max_length=60, help_text="the error's class")
    message = models.TextField()
    opened_at = models.DateTimeField(db_default=Now())
    notified_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.CharField(max_length=120, blank=True)
    resolution = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["-opened_at"], condition=Q(closed_at__isnull=True), name="alert_open")
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["order_id"], condition=Q(closed_at__isnull=True), name="one_open_alert_per_order"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.order_id}"


class LeaderLease(models.Model):
    """Who leads (V6). Every write of a leader carries its term; an older term changes nothing (I6)."""

    SUPERVISOR = "supervisor"

    name = models.CharField(max_length=40, primary_key=True)
    holder = models.CharField(max_length=80, null=True)
    term = models.PositiveBigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    swept_at = models.DateTimeField(null=True)
    last_sweep = models.JSONField(default=dict, help_text="what the last sweep found and did")

    def __str__(self) -> str:
        return f"{self.name}: {self.holder} (term {self.term})"


class AgentInstance(models.Model):
    """One agent in one running process, as it last reported itself (A9)."""

    id = models.BigAutoField(primary_key=True)
    instance = models.CharField(max_length=80)
    agent = models.CharField(max_length=60)
    capacity = models.PositiveIntegerField()
    in_flight = models.PositiveIntegerField(default=0)
    calls = models.PositiveBigIntegerField(default=0)
    failed_calls = models.PositiveBigIntegerField(default=0)
    mean_seconds = models.FloatField(null=True, help_text="moving average of a call's duration")
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["instance", "agent"], name="one_row_per_instance")]

    def __str__(self) -> str:
        return f"{self.agent} at {self.instance}"
