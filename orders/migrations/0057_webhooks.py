"""Webhooks of clients, and what is delivered to them. Both tables are new, so nothing waits for the locks."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0056_status_by_queue_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="outgoingmessage",
            name="kind",
            field=models.CharField(
                choices=[
                    ("alert", "alert"),
                    ("order_link", "order link"),
                    ("sign_up", "sign up"),
                    ("new_password", "new password"),
                    ("webhook_off", "webhook off"),
                ],
                max_length=12,
            ),
        ),
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("url", models.CharField(max_length=500)),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=24), default=list, size=None
                    ),
                ),
                ("secret", models.CharField(help_text="sealed", max_length=200)),
                (
                    "previous_secret",
                    models.CharField(blank=True, help_text="sealed; signs, too, for a while", max_length=200),
                ),
                ("previous_until", models.DateTimeField(null=True)),
                ("position", models.BigIntegerField()),
                ("event_id", models.BigIntegerField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "failing_since",
                    models.DateTimeField(help_text="the first failure since the last success", null=True),
                ),
                ("disabled_at", models.DateTimeField(null=True)),
                (
                    "disabled_reason",
                    models.CharField(
                        blank=True, choices=[("failing", "failing"), ("gone", "gone")], max_length=8
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("disabled_at", None), ("disabled_reason", "")),
                            models.Q(
                                ("disabled_at__isnull", False),
                                models.Q(("disabled_reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="a_disabled_webhook_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("previous_secret", ""), ("previous_until", None)),
                            models.Q(
                                ("previous_until__isnull", False),
                                models.Q(("previous_secret", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="a_previous_secret_has_an_end",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("order_id", models.UUIDField()),
                ("event_id", models.BigIntegerField()),
                ("message_id", models.CharField(help_text="the webhook-id", max_length=60)),
                ("kind", models.CharField(max_length=24)),
                ("body", models.TextField(help_text="what is posted, as JSON")),
                (
                    "state",
                    models.CharField(
                        choices=[("queued", "queued"), ("sending", "sending"), ("delivered", "delivered")],
                        default="queued",
                        max_length=9,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "due_at",
                    models.DateTimeField(
                        help_text="when it is next tried; while it is being sent, when its sender is given up",
                        null=True,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                (
                    "tried_since",
                    models.DateTimeField(help_text="when the first of these attempts began", null=True),
                ),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "log",
                    models.JSONField(
                        default=list, help_text="the latest attempts, each with its request and its answer"
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="orders.webhookendpoint",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "webhook deliveries",
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["endpoint", "due_at"],
                        name="webhook_due",
                    ),
                    models.Index(
                        condition=models.Q(("state", "sending")), fields=["endpoint"], name="webhook_under_way"
                    ),
                    models.Index(
                        condition=models.Q(("state", "delivered"), _negated=True),
                        fields=["endpoint", "order_id", "id"],
                        name="webhook_undelivered",
                    ),
                    models.Index(fields=["endpoint", "-id"], name="webhook_by_endpoint"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("endpoint", "event_id"), name="one_delivery_per_event"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("delivered_at", None), ("state", "queued")),
                            models.Q(("delivered_at", None), ("due_at__isnull", False), ("state", "sending")),
                            models.Q(
                                ("delivered_at__isnull", False), ("due_at", None), ("state", "delivered")
                            ),
                            _connector="OR",
                        ),
                        name="a_delivery_is_due_or_has_been_made",
                    ),
                ],
            },
        ),
    ]
