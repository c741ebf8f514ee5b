"""What an erasure finds a customer's messages by."""

import django.db.models.functions.text
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0033_search_of_archived_orders")]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS outbox_by_recipient", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="outgoingmessage",
            index=models.Index(django.db.models.functions.text.Lower("recipient"), name="outbox_by_recipient"),
        ),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS outbox_by_order", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="outgoingmessage",
            index=models.Index(
                condition=models.Q(("order_id__isnull", False)), fields=["order_id"], name="outbox_by_order"
            ),
        ),
    ]
