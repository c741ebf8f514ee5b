"""Finds the failed steps whose effect somebody has to look up by an index. Orders are processed meanwhile.

A build that was interrupted leaves an index that is not valid, so it is dropped first.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0091_order_notes")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS step_to_settle", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="stepstate",
            index=models.Index(
                fields=["agent", "name"], condition=Q(state="failed", outcome="unknown"), name="step_to_settle"
            ),
        ),
    ]
