"""The state store: one `OrderProcess` per order, one `StepState` per step, and the `Event`s that led there.

Only `orders.engine.state_store` writes these tables. The state machines are drawn in docs/state-machines.md.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Least, Now

from orders.models.choices import choices
from orders.vocabulary import ActorKind, EventKind, Goal, Outcome, ProcessState, StepStatus


class OrderProcess(models.Model):
    """The state of one order's workflow (T2).

    `locked_by` is the scheduler that works on it, until `complete_by`. Ids say nothing about age: orders are as old as
    their `created_at`, and those that were inserted together are as old as one another.
    """

    order_id = models.UUIDField(primary_key=True)
    workflow = models.CharField(max_length=60)
    version = models.PositiveSmallIntegerField()
    fingerprint = models.CharField(
        max_length=16,
        blank=True,
        db_default="",
        help_text="of the workflow that the order started with; empty for orders from before there were any",
    )
    goal = models.CharField(max_length=10, choices=choices(Goal), default=Goal.COMPLETE.value)
    process_state = models.CharField(
        max_length=11, choices=choices(ProcessState), default=ProcessState.PENDING.value
    )
    locked_by = models.CharField(max_length=80, null=True)
    complete_by = models.DateTimeField(null=True)
    failure_count = models.PositiveIntegerField(default=0)
    overruns = models.PositiveIntegerField(default=0, help_text="how many times the order itself was overdue")
    priority = models.PositiveSmallIntegerField(default=5)
    not_before = models.DateTimeField(null=True, help_text="when the order is next due for a scheduler")
    reply_to = models.CharField(
        max_length=120, blank=True, help_text="the submitting application's response queue"
    )
    customer_id = models.IntegerField(null=True, help_text="whose order it is; 0 if it is nobody's")
    announced = models.BooleanField(
        default=True, help_text="false in Error until the application has been told"
    )
    paused_at = models.DateTimeField(null=True, help_text="since when an operator has had the order paused")
    paused_until = models.DateTimeField(null=True, help_text="when the pause ends by itself, if it does")
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "order processes"
        indexes = [
            models.Index(
                F("priority").desc(),
                F("created_at"),
                condition=Q(process_state="pending", not_before__isnull=True),
                name="process_ready_by_age",
            ),
            models.Index(
                fields=["not_before"],
                condition=Q(process_state__in=["pending", "processing"], not_before__isnull=False),
                name="process_waiting",
            ),
            models.Index(
                fields=["complete_by"], condition=Q(process_state="processing"), name="process_overdue"
            ),
            models.Index(fields=["order_id"], condition=Q(announced=False), name="process_unannounced"),
            models.Index(fields=["process_state", "-created_at"], name="process_by_state_and_age"),
            models.Index(
                fields=["-finished_at"],
                include=["process_state", "created_at"],
                condition=Q(finished_at__isnull=False),
                name="process_finished",
            ),
            models.Index(fields=["paused_at"], condition=Q(paused_at__isnull=False), name="process_paused"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(process_state="processing", locked_by__isnull=False, complete_by__isnull=False)
                | (~Q(process_state="processing") & Q(locked_by__isnull=True)),
                name="only_a_processing_order_is_locked",
            ),
            models.CheckConstraint(
                condition=~Q(process_state="compensated") | Q(goal="compensate"),
                name="compensated_only_if_asked",
            ),
            models.CheckConstraint(
                condition=~Q(process_state="processed") | Q(goal="complete"),
                name="processed_only_if_meant",
            ),
            models.CheckConstraint(condition=Q(priority__lte=9), name="priority_is_one_digit"),
            models.CheckConstraint(
                condition=Q(process_state__in=[word.value for word in ProcessState]),
                name="process_state_is_known",
            ),
            models.CheckConstraint(condition=Q(goal__in=[word.value for word in Goal]), name="goal_is_known"),
            models.CheckConstraint(
                condition=Q(paused_at__isnull=True)
                | Q(goal="complete", process_state__in=["pending", "processing", "error"]),
                name="only_an_order_that_goes_forward_is_paused",
            ),
            models.CheckConstraint(
                condition=Q(paused_until__isnull=True) | Q(paused_at__isnull=False),
                name="only_a_pause_ends",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id} {self.process_state}"


class StepState(models.Model):
    """The state of one step of one order (T4), with what is needed to compensate it (T5).

    `attempt` counts dispatches, in either direction, and never decreases. With `answered` it is the fence that rejects
    late and duplicate replies: a reply counts once, and only for the last attempt.
    `generation` is part of the idempotency key: it grows when a step that was definitely refused is resubmitted.
    """

    # `one_state_per_step` begins with it, so an index of its own would only cost every write of a step.
    process = models.ForeignKey(
        OrderProcess, on_delete=models.CASCADE, related_name="steps", db_column="order_id", db_index=False
    )
    name = models.CharField(max_length=60)
    position = models.PositiveSmallIntegerField()
    agent = models.CharField(max_length=60)
    state = models.CharField(max_length=12, choices=choices(StepStatus), default=StepStatus.NOT_STARTED.value)
    attempt = models.PositiveIntegerField(default=0)
    answered = models.PositiveIntegerField(default=0, help_text="the last attempt whose reply was recorded")
    generation = models.PositiveIntegerField(default=1)
    compensation_generation = models.PositiveIntegerField(default=1)
    outcome = models.CharField(max_length=7, choices=choices(Outcome), default=Outcome.NONE.value)
    complete_by = models.DateTimeField(null=True)
    settles_at = models.DateTimeField(
        null=True, help_text="until when a call that timed out may still take effect"
    )
    not_before = models.DateTimeField(null=True)
    failure_count = models.PositiveIntegerField(default=0)
    compensation_failure_count = models.PositiveIntegerField(default=0)
    extended_waits = models.PositiveIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, help_text="when the present generation was first dispatched")
    compensation_sent_at = models.DateTimeField(
        null=True, help_text="when the present generation of the compensation was first dispatched"
    )
    waiting_since = models.DateTimeField(
        null=True, help_text="since when the step has been ready and waiting for its agent"
    )
    wanted_since = models.DateTimeField(
        null=True,
        help_text="since when the step has waited for its agent, probes included; its patience is counted from here",
    )
    paused_since = models.DateTimeField(
        null=True, help_text="since when the step has been ready, and paused in all orders of its workflow"
    )
    priority = models.PositiveSmallIntegerField(default=5, help_text="the order's priority")
    awaits = models.JSONField(null=True, help_text="what the step waits for, or last waited for")
    awaits_until = models.DateTimeField(
        null=True, help_text="until when a delay lasts, or the answer to the present generation may come"
    )
    request = models.JSONField(default=dict)
    original = models.JSONField(
        null=True, help_text="the request as it was before an operator first edited it"
    )
    next_request = models.JSONField(
        null=True,
        help_text="what the next generation asks for, once the present one, which may have been done, is reversed",
    )
    result = models.JSONField(null=True)
    error = models.JSONField(null=True)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("process", "position")
        indexes = [
            models.Index(
                fields=["complete_by"], condition=Q(complete_by__isnull=False), name="step_in_flight"
            ),
            models.Index(
                F("agent"),
                Least(F("failure_count") + F("compensation_failure_count"), 1),
                F("priority").desc(),
                F("wanted_since"),
                condition=Q(waiting_since__isnull=False),
                name="step_waiting_by_age",
            ),
            models.Index(fields=["agent", "name"], condition=Q(state="failed"), name="step_failed"),
            models.Index(
                fields=["agent", "name"],
                condition=Q(state="failed", outcome="unknown"),
                name="step_to_settle",
            ),
            models.Index(
                fields=["paused_since"], condition=Q(paused_since__isnull=False), name="step_paused"
            ),
            models.Index(
                fields=["complete_by", "id"],
                condition=Q(state="awaiting", awaits__kind="decision"),
                name="step_to_decide",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["process", "name"], name="one_state_per_step"),
            models.CheckConstraint(
                condition=Q(state="running", complete_by__isnull=False)
                | Q(state__in=["compensating", "awaiting"])
                | (~Q(state="running") & Q(complete_by__isnull=True)),
                name="in_flight_has_a_complete_by",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[word.value for word in StepStatus]), name="step_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=[word.value for word in Outcome]), name="outcome_is_known"
            ),
            models.CheckConstraint(
                condition=Q(answered__lte=F("attempt")), name="answered_only_what_was_asked"
            ),
            models.CheckConstraint(
                condition=~Q(state="completed") | Q(outcome="done"), name="completed_means_done"
            ),
            models.CheckConstraint(
                condition=Q(waiting_since__isnull=True)
                | Q(complete_by__isnull=True)
                | Q(
                    state="awaiting"
                ),  # it waits for its agent to ask again, and an answer may come all the same
                name="what_waits_is_not_in_flight",
            ),
            models.CheckConstraint(
                condition=Q(paused_since__isnull=True)
                | (Q(waiting_since__isnull=True) & (Q(complete_by__isnull=True) | Q(state="awaiting"))),
                name="what_is_paused_is_not_in_flight",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | Q(outcome="unknown"), name="running_means_unknown"
            ),
            models.CheckConstraint(
                condition=~Q(state="awaiting") | Q(awaits__isnull=False), name="awaiting_says_what_for"
            ),
            models.CheckConstraint(
                condition=~Q(state="awaiting") | Q(answered__lt=F("attempt")), name="awaiting_is_unanswered"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["running", "completed", "compensating", "compensated"])
                | Q(attempt__gt=0),
                name="dispatched_means_attempted",
            ),
            models.CheckConstraint(
                condition=Q(next_request__isnull=True)
                | Q(outcome="unknown", state__in=["failed", "compensating", "awaiting"]),
                name="only_what_may_be_done_is_reversed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.process_id}/{self.name} {self.state}"


class Event(models.Model):
    """Something that happened to an order, for its timeline and its audit trail. Append-only.

    `order_id` is not a foreign key, because checking one would lock the process row at every insert. `customer_id` and
    `position` say whose feed of changes it is in, and where (`orders.engine.state_store.feed`).
    """

    id = models.BigAutoField(primary_key=True)
    order_id = models.UUIDField()
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=24)
    step = models.CharField(max_length=60, blank=True)
    attempt = models.PositiveIntegerField(default=0)
    actor_kind = models.CharField(max_length=12, choices=choices(ActorKind))
    actor_name = models.CharField(max_length=120)
    detail = models.JSONField(default=dict)
    customer_id = models.IntegerField(null=True, help_text="whose order it is; 0 if it is nobody's")
    position = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["order_id", "id"], name="event_by_order"),
            models.Index(
                fields=["customer_id", "position", "id"],
                condition=Q(customer_id__gt=0),
                name="event_by_customer",
            ),
            models.Index(
                fields=["at"], condition=Q(kind=EventKind.WAITING_FOR_AGENT.value), name="event_of_waiting"
            ),
            models.Index(
                fields=["position", "id"],
                condition=Q(
                    kind__in=[
                        EventKind.STEP_DECLINED.value,
                        EventKind.ERROR.value,
                        EventKind.COMPENSATED.value,
                    ]
                ),
                name="event_to_tell",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.at:%H:%M:%S} {self.kind} {self.step}"


class WorkflowDefinition(models.Model):
    """What a version of a workflow was when a release first ran it, to say what has changed since (rule 10).

    `orders.engine.state_store.definitions` writes it.
    """

    id = models.BigAutoField(primary_key=True)
    name = models.CharField(max_length=60)
    version = models.PositiveSmallIntegerField()
    fingerprint = models.CharField(max_length=16)
    definition = models.JSONField()
    first_seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name", "version", "fingerprint"], name="one_row_per_workflow_definition"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version} {self.fingerprint}"
