"""Steps that wait for an answer from outside, or for a time.

The constraints only allow more than before, so rows that are there need no check while the table is locked. The next
migration has them checked while orders are processed.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import F, Q

WIDENED = (
    "in_flight_has_a_complete_by",
    "step_state_is_known",
    "what_waits_is_not_in_flight",
)
STATES = ["not_started", "running", "awaiting", "completed", "failed", "skipped", "compensating", "compensated"]
CONSTRAINTS = (
    models.CheckConstraint(
        condition=Q(state="running", complete_by__isnull=False)
        | Q(state__in=["compensating", "awaiting"])
        | (~Q(state="running") & Q(complete_by__isnull=True)),
        name="in_flight_has_a_complete_by",
    ),
    models.CheckConstraint(condition=Q(state__in=STATES), name="step_state_is_known"),
    models.CheckConstraint(
        condition=Q(waiting_since__isnull=True) | Q(complete_by__isnull=True) | Q(state="awaiting"),
        name="what_waits_is_not_in_flight",
    ),
    models.CheckConstraint(
        condition=~Q(state="awaiting") | Q(awaits__isnull=False), name="awaiting_says_what_for"
    ),
    models.CheckConstraint(
        condition=~Q(state="awaiting") | Q(answered__lt=F("attempt")), name="awaiting_is_unanswered"
    ),
)


class Migration(migrations.Migration):
    dependencies = [("orders", "0046_announcements")]

    operations = [
        *(migrations.RemoveConstraint(model_name="stepstate", name=name) for name in WIDENED),
        migrations.AddField(
            model_name="stepstate",
            name="awaits",
            field=models.JSONField(help_text="what the step waits for, or last waited for", null=True),
        ),
        migrations.AddField(
            model_name="stepstate",
            name="awaits_until",
            field=models.DateTimeField(
                help_text="until when a delay lasts, or the answer to the present generation may come", null=True
            ),
        ),
        migrations.AlterField(
            model_name="stepstate",
            name="state",
            field=models.CharField(
                choices=[(state, state.replace("_", " ")) for state in STATES], default="not_started", max_length=12
            ),
        ),
        *(AddConstraintNotValid(model_name="stepstate", constraint=constraint) for constraint in CONSTRAINTS),
    ]
