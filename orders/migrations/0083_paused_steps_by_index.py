"""Finds the steps that wait because they are paused by an index, and checks the constraint of the last migration. Orders
are processed meanwhile.

A build that was interrupted leaves an index that is not valid, so it is dropped first.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0082_what_is_paused")]

    operations = [
        ValidateConstraint(model_name="stepstate", name="what_is_paused_is_not_in_flight"),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS step_paused", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="stepstate",
            index=models.Index(
                fields=["paused_since"], condition=Q(paused_since__isnull=False), name="step_paused"
            ),
        ),
    ]
