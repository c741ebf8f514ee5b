"""That no new orders are accepted, which steps are paused in all orders of their workflow, and since when a step has
waited because of that.

The column may be null, so nothing is rewritten. No row can fail its constraint, which only steps that are paused can; the
next migration has it checked while orders are processed.
"""

import django.db.models.functions.datetime
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("orders", "0081_saved_views")]

    operations = [
        migrations.CreateModel(
            name="IntakePause",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("until", models.DateTimeField(null=True)),
                ("by", models.CharField(max_length=120)),
                ("reason", models.CharField(max_length=200)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="the_intake_has_one_pause_at_most"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True),
                        name="a_pause_of_the_intake_has_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("until__isnull", True), ("until__gt", models.F("at")), _connector="OR"
                        ),
                        name="a_pause_of_the_intake_ends_after_it_began",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StepPause",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("workflow", models.CharField(max_length=60)),
                ("step", models.CharField(max_length=60)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("until", models.DateTimeField(null=True)),
                ("by", models.CharField(max_length=120)),
                ("reason", models.CharField(max_length=200)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workflow", "step"), name="a_step_has_one_pause_at_most"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True),
                        name="a_pause_of_a_step_has_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("until__isnull", True), ("until__gt", models.F("at")), _connector="OR"
                        ),
                        name="a_pause_of_a_step_ends_after_it_began",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="stepstate",
            name="paused_since",
            field=models.DateTimeField(
                help_text="since when the step has been ready, and paused in all orders of its workflow",
                null=True,
            ),
        ),
        AddConstraintNotValid(
            model_name="stepstate",
            constraint=models.CheckConstraint(
                condition=Q(paused_since__isnull=True)
                | (Q(waiting_since__isnull=True) & (Q(complete_by__isnull=True) | Q(state="awaiting"))),
                name="what_is_paused_is_not_in_flight",
            ),
        ),
    ]
