"""The operators' desk: bulk actions with their items, requests for approval, and the audit log."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from orders.models.choices import choices
from orders.models.health import AlertGroup
from orders.vocabulary import ApprovalAct, ApprovalState, BulkItemState, BulkKind, BulkState


class BulkAction(models.Model):
    """An act on many orders (or on one, with time to undo it), carried out by the jobs process in waves.

    It begins at `starts_at`; until then it can be undone, and no order has changed. `waves` are the numbers of orders
    in each wave; a wave begins when the one before it has ended. When more than `stop_share` of a wave's orders fail
    again, the action pauses itself. `rate` is the most orders a second.

    Of a cancellation that needed it, `approval` covers what its items give back, and no more.

    `orders.services.operators.bulk` creates it, `bulk_control` pauses, resumes, stops and undoes it, and `bulk_runner`
    carries it out.
    """

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=12, choices=choices(BulkKind))
    state = models.CharField(max_length=8, choices=choices(BulkState), default=BulkState.RUNNING.value)
    selection = models.CharField(max_length=300, help_text="the chosen orders, in words")
    group = models.ForeignKey(AlertGroup, null=True, on_delete=models.SET_NULL, related_name="actions")
    query = models.JSONField(default=dict, help_text="the filter that chose the orders")
    by = models.CharField(max_length=120)
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    starts_at = models.DateTimeField()
    waves = models.JSONField(default=list)
    wave = models.PositiveSmallIntegerField(default=0, help_text="the present wave, counted from 0")
    stop_share = models.FloatField(default=0.2)
    rate = models.FloatField(default=20.0)
    total = models.PositiveIntegerField()
    pause_reason = models.CharField(max_length=200, blank=True)
    acted_at = models.DateTimeField(null=True, help_text="when it last acted on an order")
    ended_at = models.DateTimeField(null=True)
    approval = models.BigIntegerField(null=True, help_text="the number of the request that an admin approved")
    predecessor = models.BigIntegerField(
        null=True, help_text="the number of the action whose orders that failed again these are"
    )
    successor = models.BigIntegerField(
        null=True, help_text="the number of the newest action on its orders that failed again"
    )

    is_replayed = False
    """Not stored: whether an earlier request has created it."""

    class Meta:
        indexes = [
            models.Index(fields=["starts_at"], condition=Q(state="running"), name="bulk_running"),
            models.Index(fields=["-created_at"], name="bulk_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.selection}"


class BulkItem(models.Model):
    """One order of a bulk action.

    `bulk_runner` acts on the order and records it here in one transaction, so each order is acted on once. `amount` is
    what the act was about when it was asked for: what a cancellation gives back, or else the order's total.
    """

    id = models.BigAutoField(primary_key=True)
    action = models.ForeignKey(BulkAction, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()
    wave = models.PositiveSmallIntegerField(default=0)
    order_id = models.UUIDField()
    state = models.CharField(
        max_length=8, choices=choices(BulkItemState), default=BulkItemState.WAITING.value
    )
    result = models.CharField(max_length=300, blank=True, help_text="what happened")
    acted_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    amount = models.PositiveBigIntegerField(null=True, help_text="in minor units")
    currency = models.CharField(max_length=3, blank=True, db_default="")
    is_held = models.BooleanField(
        db_default=False, help_text="whether the amount is only reserved, so it is released"
    )

    class Meta:
        indexes = [
            models.Index(fields=["action", "state", "position"], name="bulk_item_by_state"),
            models.Index(fields=["order_id"], name="bulk_item_by_order"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["action", "order_id"], name="an_action_takes_an_order_once"),
            models.CheckConstraint(
                condition=Q(amount=None, currency="", is_held=False)
                | (Q(amount__isnull=False) & ~Q(currency="")),
                name="the_sum_of_an_item_has_a_currency",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.order_id} {self.state}"


class ApprovalRequest(models.Model):
    """An act that somebody may not do alone, and asks an admin to approve. Approving it carries it out.

    `parameters` are those of the act, and `digest` tells acts apart, so that one act is asked for once at a time.
    Only `orders.services.operators.approvals` writes it.
    """

    id = models.BigAutoField(primary_key=True)
    act = models.CharField(max_length=20, choices=choices(ApprovalAct))
    target = models.CharField(max_length=120, help_text="as the audit log names it")
    order_id = models.UUIDField(null=True, help_text="the order that it is about, if it is about one")
    summary = models.CharField(max_length=300, help_text="the act in words")
    parameters = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)
    reason = models.CharField(max_length=200, blank=True)
    asked_by = models.CharField(max_length=120)
    asked_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    state = models.CharField(
        max_length=10, choices=choices(ApprovalState), default=ApprovalState.WAITING.value
    )
    decided_by = models.CharField(max_length=120, blank=True)
    decided_at = models.DateTimeField(null=True)
    note = models.CharField(max_length=200, blank=True)
    result = models.CharField(max_length=300, blank=True, help_text="what came of it, as a sentence")

    class Meta:
        indexes = [
            models.Index(fields=["expires_at"], condition=Q(state="waiting"), name="approval_waiting"),
            models.Index(fields=["order_id", "-id"], name="approval_by_order"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["digest"], condition=Q(state="waiting"), name="an_act_waits_for_approval_once"
            ),
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at__isnull=True)
                | (~Q(state="waiting") & Q(decided_at__isnull=False)),
                name="a_request_is_decided_or_waits",
            ),
            models.CheckConstraint(
                condition=~Q(state="approved") | ~Q(decided_by=F("asked_by")),
                name="nobody_approves_her_own_request",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.target}"


class AuditEntry(models.Model):
    """One act of an operator, carried out or refused. Append-only: triggers refuse changes.

    Only `orders.services.audit` adds rows, in the transaction of the act. A trigger then adds an `AuditLink`.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=120)
    ip_address = models.CharField(max_length=45, blank=True)
    act = models.CharField(max_length=40)
    target = models.CharField(max_length=120, blank=True, help_text="an order, group, agent or bulk action")
    allowed = models.BooleanField(default=True)
    result = models.CharField(max_length=300, blank=True, help_text="the result, as a sentence")
    reason = models.CharField(max_length=200, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["-at"], name="audit_by_age"),
            models.Index(fields=["target", "-at"], name="audit_by_target"),
        ]
        permissions = [
            ("view_console", "Can look at the operator console"),
            ("operate", "Can resubmit, compensate, skip, settle, acknowledge, and pause agents"),
            ("administer", "Can force circuits and settle what was done outside"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.act} {self.target}"


class AuditLink(models.Model):
    """A link of the chain over the audit log: what an entry said, sealed together with every link before it.

    Only a trigger adds links, as the last thing in the transaction of the act (docs/adr/0034). When an erasure changes
    an entry, it gets another link, and what the earlier ones were salted with is forgotten, so that nobody can try out
    what the entry said. `orders.selectors.desk.audit_chain` verifies the chain.
    """

    position = models.BigIntegerField(primary_key=True, help_text="counted from 1, without gaps")
    entry = models.BigIntegerField(help_text="the id of the entry")
    salt = models.UUIDField(null=True, help_text="null once another link of the entry follows")
    digest = models.BinaryField(help_text="SHA-256 of the salt and the entry")
    hash = models.BinaryField(
        help_text="SHA-256 of the hash before, the position, the entry's id and the digest"
    )

    class Meta:
        indexes = [models.Index(fields=["entry", "position"], name="audit_link_by_entry")]

    def __str__(self) -> str:
        return f"{self.position}: {self.entry}"


class Erasure(models.Model):
    """An erasure of a customer, with what it needs to go on after its process has died (docs/adr/0026).

    `terms` are what names her, and `accounts` hers; `walked` says how far each table has been searched for the terms.
    All three, and `email`, are emptied at the end. Only `orders.services.operators.erasure` writes it.
    """

    id = models.BigAutoField(primary_key=True)
    pseudonym = models.CharField(max_length=40)
    entry = models.BigIntegerField(help_text="the id of its entry in the audit log")
    email = models.EmailField(blank=True)
    terms = models.JSONField(default=list)
    accounts = models.JSONField(default=list)
    walked = models.JSONField(default=dict)
    orders = models.PositiveIntegerField(default=0, help_text="orders erased so far")
    mentions = models.PositiveIntegerField(default=0, help_text="other rows changed so far")
    begun_at = models.DateTimeField(db_default=Now())
    leased_until = models.DateTimeField(null=True, help_text="until when a process works on it")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pseudonym"],
                condition=Q(finished_at__isnull=True),
                name="one_unfinished_erasure_per_customer",
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True) | Q(email="", terms=[], accounts=[], walked={}),
                name="a_finished_erasure_names_nobody",
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym
