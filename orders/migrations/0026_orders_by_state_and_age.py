from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0025_ready_orders_by_age'),
    ]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS process_by_state_and_age', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='orderprocess',
            index=models.Index(fields=['process_state', '-created_at'], name='process_by_state_and_age'),
        ),
    ]
