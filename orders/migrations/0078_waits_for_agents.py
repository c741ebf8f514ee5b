"""The orders that waited for an agent in an outage are found by time. Few events say so, so the index is small."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0077_pauses_by_index")]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS event_of_waiting", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                fields=["at"],
                condition=models.Q(kind="waiting_for_agent"),
                name="event_of_waiting",
            ),
        ),
    ]
