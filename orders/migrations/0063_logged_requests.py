"""The log of clients' requests. The table is new, so nothing waits for the locks."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0062_pinned_versions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="LoggedRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("request_id", models.CharField(max_length=64)),
                ("at", models.DateTimeField(help_text="when it began, by the web's clock")),
                ("method", models.CharField(max_length=10)),
                (
                    "path",
                    models.CharField(blank=True, help_text="empty if there is no such url", max_length=200),
                ),
                ("status", models.PositiveSmallIntegerField()),
                ("code", models.CharField(blank=True, help_text="of the problem", max_length=40)),
                (
                    "order_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), help_text="the orders that it was about", size=None
                    ),
                ),
                ("token", models.CharField(help_text="the token's first characters", max_length=12)),
                ("milliseconds", models.PositiveIntegerField()),
                (
                    "customer",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["customer", "-id"], name="request_by_customer"),
                    models.Index(fields=["request_id"], name="request_by_request_id"),
                    django.contrib.postgres.indexes.GinIndex(fields=["order_ids"], name="request_by_order"),
                ],
            },
        ),
    ]
