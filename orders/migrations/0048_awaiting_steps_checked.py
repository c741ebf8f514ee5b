"""Checks the constraints of the last migration. Meanwhile orders are processed; repeating it does nothing."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations

NAMES = (
    "in_flight_has_a_complete_by",
    "step_state_is_known",
    "what_waits_is_not_in_flight",
    "awaiting_says_what_for",
    "awaiting_is_unanswered",
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0047_awaiting_steps")]

    operations = [ValidateConstraint(model_name="stepstate", name=name) for name in NAMES]
