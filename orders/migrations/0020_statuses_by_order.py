from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0019_archived_orders'),
    ]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS status_by_order', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='statusmessage',
            index=models.Index(fields=['order_id'], name='status_by_order'),
        ),
    ]
