"""Finds the response queues of one client by how their names begin, whatever the collation of the database.

The new index finds one queue as the old one does, which is dropped when the new one is there.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0055_leased_messages")]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS status_by_queue_name", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="statusmessage",
            index=models.Index(
                fields=["queue", "id"],
                name="status_by_queue_name",
                opclasses=["varchar_pattern_ops", "int8_ops"],
            ),
        ),
        RemoveIndexConcurrently(model_name="statusmessage", name="status_by_queue"),
    ]
