"""What agents' calls came to. The table is new, so nothing waits for the locks."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0065_approvals"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentTally",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("agent", models.CharField(max_length=60)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("ok", "ok"),
                            ("declined", "declined"),
                            ("transient", "transient"),
                            ("nontransient", "nontransient"),
                            ("timeout", "timeout"),
                        ],
                        max_length=12,
                    ),
                ),
                ("calls", models.BigIntegerField()),
                (
                    "buckets",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        help_text="calls by duration, by LATENCY_BOUNDS",
                        size=None,
                    ),
                ),
                ("seconds", models.FloatField(help_text="how long the calls took together")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("agent", "outcome"), name="one_tally_per_outcome"),
                    models.CheckConstraint(
                        condition=models.Q(("buckets__len", 13)), name="a_tally_has_every_bucket"
                    ),
                ],
            },
        ),
    ]
