from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0024_compensation_sent_at'),
    ]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS process_ready_by_age', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='orderprocess',
            index=models.Index(models.OrderBy(models.F('priority'), descending=True), models.F('created_at'), condition=models.Q(('not_before__isnull', True), ('process_state', 'pending')), name='process_ready_by_age'),
        ),
    ]
