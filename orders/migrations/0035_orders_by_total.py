from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0034_outbox_by_customer")]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS order_by_total", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="order",
            index=models.Index(fields=["total"], name="order_by_total"),
        ),
    ]
