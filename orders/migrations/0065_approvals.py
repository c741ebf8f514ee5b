"""Requests for approval: acts that somebody may not do alone."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0064_replaced_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name="ApprovalRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "act",
                    models.CharField(
                        choices=[
                            ("settle_step", "settle step"),
                            ("force_circuit", "force circuit"),
                            ("unforce_circuit", "unforce circuit"),
                            ("erase_customer", "erase customer"),
                            ("compensate_order", "compensate order"),
                            ("decide", "decide"),
                            ("create_bulk_action", "create bulk action"),
                        ],
                        max_length=20,
                    ),
                ),
                ("target", models.CharField(help_text="as the audit log names it", max_length=120)),
                (
                    "order_id",
                    models.UUIDField(help_text="the order that it is about, if it is about one", null=True),
                ),
                ("summary", models.CharField(help_text="the act in words", max_length=300)),
                ("parameters", models.JSONField(default=dict)),
                ("digest", models.CharField(max_length=64)),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("asked_by", models.CharField(max_length=120)),
                ("asked_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("approved", "approved"),
                            ("declined", "declined"),
                            ("withdrawn", "withdrawn"),
                            ("expired", "expired"),
                            ("lapsed", "lapsed"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("decided_by", models.CharField(blank=True, max_length=120)),
                ("decided_at", models.DateTimeField(null=True)),
                ("note", models.CharField(blank=True, max_length=200)),
                (
                    "result",
                    models.CharField(blank=True, help_text="what came of it, as a sentence", max_length=300),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["expires_at"],
                        name="approval_waiting",
                    ),
                    models.Index(fields=["order_id", "-id"], name="approval_by_order"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "waiting")),
                        fields=("digest",),
                        name="an_act_waits_for_approval_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("state", "waiting")),
                            models.Q(
                                models.Q(("state", "waiting"), _negated=True), ("decided_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="a_request_is_decided_or_waits",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "approved"), _negated=True),
                            models.Q(("decided_by", models.F("asked_by")), _negated=True),
                            _connector="OR",
                        ),
                        name="nobody_approves_her_own_request",
                    ),
                ],
            },
        ),
    ]
