"""The channels: queues as tables, so that a change of state and the messages it causes commit together.

Only `orders.engine.channels` writes these tables; `orders.retention` deletes old rows. A message is deleted once it has
been dealt with.
"""

from django.db import models
from django.db.models import F, Func, Q
from django.db.models.functions import Now

from orders.models.choices import choices
from orders.vocabulary import Goal

NUMBER_IN_SQL = (
    "mod(('x' || left(encode(sha256(uuid_send({order_id})), 'hex'), 15))::bit(60)::bigint, 17249876309)"
)
"""The number of an order, as `orders.fields.order_numbers` works it out of the order's id."""
NUMBER = Func(
    F("order_id"),
    template=NUMBER_IN_SQL.format(order_id="%(expressions)s"),
    output_field=models.BigIntegerField(),
)


class SubmissionMessage(models.Model):
    """A placed order that waits to be inserted (S1). `body` describes the whole order; `client` submitted it.

    The submission role takes it and inserts the order, with this `goal`: to be compensated if it was cancelled already.
    """

    id = models.BigAutoField(primary_key=True)
    order_id = models.UUIDField(db_index=True)
    client = models.CharField(max_length=80)
    body = models.JSONField()
    goal = models.CharField(
        max_length=10, choices=choices(Goal), default=Goal.COMPLETE.value, db_default=Goal.COMPLETE.value
    )
    posted_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.order_id)


class SubmissionKey(models.Model):
    """What a submission is known by: the same client and key, or the same client and reference, always mean the same
    order (S3), and no other order has the same number. There is one for each submission.

    Of a reference only its hash is here. So the reference stays taken when its customer is erased. The number follows
    from the order's id.
    """

    id = models.BigAutoField(primary_key=True)
    client = models.CharField(max_length=80)
    key = models.CharField(max_length=255, null=True)
    reference_hash = models.CharField(max_length=64, null=True)
    body_hash = models.CharField(max_length=64)
    order_id = models.UUIDField()
    created_at = models.DateTimeField(db_default=Now())
    shares_number = models.BooleanField(
        db_default=False,
        help_text="whether it had been placed before numbers were made unique, and is the later of two",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["client", "key"], name="one_order_per_key"),
            models.UniqueConstraint(NUMBER, condition=Q(shares_number=False), name="one_order_per_number"),
            models.UniqueConstraint(
                fields=["client", "reference_hash"],
                condition=Q(reference_hash__isnull=False),
                name="one_order_per_reference",
            ),
        ]
        indexes = [
            models.Index(fields=["order_id"], name="submission_key_by_order"),
            models.Index(NUMBER, condition=Q(shares_number=True), name="shared_number"),
        ]

    def __str__(self) -> str:
        return f"{self.client}/{self.key}"


class SetAside(models.Model):
    """A submission that cannot be inserted, kept with its reason for an operator to fix and replay (S3)."""

    id = models.BigAutoField(primary_key=True)
    order_id = models.UUIDField(db_index=True)
    client = models.CharField(max_length=80)
    body = models.JSONField()
    reason = models.TextField()
    posted_at = models.DateTimeField()
    set_aside_at = models.DateTimeField(db_default=Now())
    replayed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["order_id"], condition=Q(replayed_at__isnull=True), name="set_aside_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id}: {self.reason}"


class AgentRequest(models.Model):
    """A request to an agent to carry out a step (C5), leased like a peek-lock: only the lease's holder may complete it.

    A scheduler posts it, and an instance of the agent leases, answers and deletes it.
    """

    id = models.BigAutoField(primary_key=True)
    order_id = models.UUIDField()
    step_id = models.BigIntegerField(unique=True)
    step = models.CharField(max_length=60)
    agent = models.CharField(max_length=60)
    operation = models.CharField(max_length=60)
    attempt = models.PositiveIntegerField()
    compensates = models.BooleanField(default=False)
    key = models.CharField(max_length=200)
    reverses = models.CharField(max_length=200, blank=True)
    body = models.JSONField()
    complete_by = models.DateTimeField()
    priority = models.PositiveSmallIntegerField(default=5)
    deliveries = models.PositiveSmallIntegerField(default=0)
    settled_deliveries = models.PositiveSmallIntegerField(
        db_default=0, help_text="how many of them were given back with no call under way"
    )
    lapses = models.PositiveSmallIntegerField(
        db_default=0, help_text="how often its lease has lapsed, because its host died"
    )
    leased_by = models.CharField(max_length=80, null=True)
    leased_until = models.DateTimeField(null=True)
    posted_at = models.DateTimeField(db_default=Now())
    posted_by = models.CharField(
        max_length=80, db_default="", help_text="the scheduler whose credit it takes"
    )
    is_repeat = models.BooleanField(
        db_default=False, help_text="whether an earlier attempt may have had the effect"
    )
    key_is_known = models.BooleanField(
        db_default=True, help_text="whether the remote service recognises a repeated call by its key"
    )

    class Meta:
        indexes = [
            models.Index(
                F("agent"),
                F("priority").desc(),
                F("id"),
                condition=Q(leased_until__isnull=True),
                name="request_free",
            ),
            models.Index(
                fields=["agent", "lapses", "id"],
                condition=Q(lapses__gte=2, leased_until__isnull=True),
                name="request_suspect",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class AgentReply(models.Model):
    """An agent's reply (A4, A6). `outcome` is done, refused, declined or failed; `body` is the result or the error.

    An instance of the agent posts it, and a scheduler takes it.
    """

    id = models.BigAutoField(primary_key=True)
    order_id = models.UUIDField()
    step_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField()
    compensates = models.BooleanField(default=False)
    outcome = models.CharField(max_length=8)
    body = models.JSONField()
    calls = models.PositiveIntegerField(default=1)
    waited = models.FloatField(db_default=0.0, help_text="seconds that the request waited for an agent")
    seconds = models.FloatField(db_default=0.0, help_text="seconds that the agent took")
    exchange = models.JSONField(null=True, help_text="what was sent and answered, if the call succeeded")
    instance = models.CharField(max_length=80)
    posted_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "agent replies"

    def __str__(self) -> str:
        return f"{self.step_id} #{self.attempt} {self.outcome}"


class StatusMessage(models.Model):
    """A message on the response queue of the application that submitted an order (Q2, Q3).

    It stays until the application acknowledges it. `sequence` numbers the messages about one order on its own queue,
    from 1; it is 0 on a business's queue, and in what an earlier release has posted. `lease` is the token of whoever
    has leased it last, until `leased_until`.
    """

    id = models.BigAutoField(primary_key=True)
    queue = models.CharField(max_length=120)
    order_id = models.UUIDField()
    kind = models.CharField(max_length=16)
    body = models.JSONField(default=dict)
    sequence = models.PositiveIntegerField(db_default=0)
    posted_at = models.DateTimeField(db_default=Now())
    lease = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)
    deliveries = models.PositiveIntegerField(db_default=0, help_text="how often it has been leased")
    failures = models.PositiveIntegerField(
        db_default=0, help_text="how often the business's own receivers have failed"
    )
    not_before = models.DateTimeField(null=True, help_text="when they are told again after a failure")

    class Meta:
        indexes = [
            models.Index(  # which finds the queues of one client, too, in any collation
                fields=["queue", "id"],
                name="status_by_queue_name",
                opclasses=["varchar_pattern_ops", "int8_ops"],
            ),
            models.Index(fields=["order_id"], name="status_by_order"),
        ]

    def __str__(self) -> str:
        return f"{self.queue}: {self.order_id} {self.kind}"


class StatusCount(models.Model):
    """How many messages about an order have been posted to its response queue, whether they are there still or not."""

    order_id = models.UUIDField(primary_key=True)
    posted = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.order_id}: {self.posted}"
