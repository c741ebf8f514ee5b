"""Tokens of our own. Those of django-rest-knox end with it; its table `knox_authtoken` is no longer read."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0036_buckets"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("label", models.CharField(blank=True, help_text="what it is for", max_length=60)),
                ("beginning", models.CharField(help_text="its first characters, to recognise it by", max_length=12)),
                ("digest", models.CharField(help_text="its SHA-256", max_length=64, unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=12), size=None),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("created_by", models.CharField(max_length=120)),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(help_text="to the minute", null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("scopes__contained_by", ["read", "orders", "priority", "operate", "compensate"])
                        ),
                        name="token_scopes_are_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("scopes__contains", ["read"])), name="every_token_may_read"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))),
                        name="a_token_expires_after_it_is_created",
                    ),
                ],
            },
        ),
    ]
