from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0020_statuses_by_order'),
    ]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS submission_key_by_order', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='submissionkey',
            index=models.Index(fields=['order_id'], name='submission_key_by_order'),
        ),
    ]
