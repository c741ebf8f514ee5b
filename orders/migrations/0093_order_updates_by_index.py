"""Finds the few events that customers are told of by an index. Orders are processed meanwhile.

A build that was interrupted leaves an index that is not valid, so it is dropped first.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0093_order_updates")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS event_to_tell", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                fields=["position", "id"],
                condition=Q(kind__in=["step_declined", "error", "compensated"]),
                name="event_to_tell",
            ),
        ),
    ]
