"""Finds the changes of one customer's orders in the order of their positions. It is empty when it is built."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0051_change_feed")]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS event_by_customer", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                fields=["customer_id", "position", "id"],
                condition=Q(customer_id__gt=0),
                name="event_by_customer",
            ),
        ),
    ]
