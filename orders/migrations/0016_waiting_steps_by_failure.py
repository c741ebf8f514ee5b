from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Least


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0015_no_index_of_leases'),
    ]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS step_waiting', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='stepstate',
            index=models.Index(models.F('agent'), Least(models.F('failure_count') + models.F('compensation_failure_count'), 1), models.OrderBy(models.F('priority'), descending=True), models.F('process_id'), condition=models.Q(('waiting_since__isnull', False)), name='step_waiting'),
        ),
    ]
