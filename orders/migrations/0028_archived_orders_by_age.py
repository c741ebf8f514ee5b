from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0027_waiting_steps_by_age'),
    ]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL('DROP INDEX CONCURRENTLY IF EXISTS archived_by_customer_and_age', migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='archivedorder',
            index=models.Index(models.F('customer'), models.OrderBy(models.F('placed_at'), descending=True), name='archived_by_customer_and_age'),
        ),
    ]
