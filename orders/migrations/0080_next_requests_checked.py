"""Checks the constraint of the last migration. Meanwhile orders are processed; repeating it does nothing."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0079_next_requests")]

    operations = [ValidateConstraint(model_name="stepstate", name="only_what_may_be_done_is_reversed")]
