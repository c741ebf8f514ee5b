"""Figures over time. The tables are new, so nothing waits for the locks."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0066_agent_tallies"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentFigures",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("span", models.CharField(choices=[("minute", "minute"), ("hour", "hour")], max_length=6)),
                ("began", models.DateTimeField()),
                ("agent", models.CharField(max_length=60)),
                ("calls", models.BigIntegerField()),
                (
                    "errors",
                    models.BigIntegerField(help_text="calls that ended otherwise than well or declined"),
                ),
                (
                    "buckets",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        help_text="calls by duration, by LATENCY_BOUNDS",
                        size=None,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CauseFigures",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("span", models.CharField(choices=[("minute", "minute"), ("hour", "hour")], max_length=6)),
                ("began", models.DateTimeField()),
                ("opened", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="OrderFigures",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("span", models.CharField(choices=[("minute", "minute"), ("hour", "hour")], max_length=6)),
                ("began", models.DateTimeField()),
                (
                    "minutes",
                    models.PositiveSmallIntegerField(default=1, help_text="measured minutes that it sums up"),
                ),
                (
                    "placed",
                    models.PositiveIntegerField(
                        help_text="orders that were inserted from the submission queue"
                    ),
                ),
                ("processed", models.PositiveIntegerField()),
                ("failed", models.PositiveIntegerField(help_text="times that an order went into Error")),
                ("cancelled", models.PositiveIntegerField(help_text="orders whose effects were compensated")),
                (
                    "took",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None),
                ),
                (
                    "unfinished",
                    django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="agentfigures",
            constraint=models.UniqueConstraint(
                fields=("span", "began", "agent"), name="one_row_of_agent_figures_per_span"
            ),
        ),
        migrations.AddField(
            model_name="causefigures",
            name="group",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="orders.alertgroup",
            ),
        ),
        migrations.AddConstraint(
            model_name="orderfigures",
            constraint=models.UniqueConstraint(fields=("span", "began"), name="one_row_of_figures_per_span"),
        ),
        migrations.AddConstraint(
            model_name="orderfigures",
            constraint=models.CheckConstraint(
                condition=models.Q(("took__len", 43), ("unfinished__len", 43)), name="figures_have_every_age"
            ),
        ),
        migrations.AddConstraint(
            model_name="causefigures",
            constraint=models.UniqueConstraint(
                fields=("group", "span", "began"), name="one_row_of_cause_figures_per_span"
            ),
        ),
    ]
