"""Checks the constraint of 0071. Meanwhile alerts are opened and closed; repeating it does nothing."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0072_limits_set_by_operators")]

    operations = [ValidateConstraint(model_name="alert", name="an_alert_has_one_subject")]
