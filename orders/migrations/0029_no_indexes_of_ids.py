"""Each index is dropped in a transaction of its own; dropping one again does nothing."""

from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0028_archived_orders_by_age'),
    ]

    operations = [
        RemoveIndexConcurrently(
            model_name='orderprocess',
            name='process_ready',
        ),
        RemoveIndexConcurrently(
            model_name='orderprocess',
            name='process_by_state',
        ),
        RemoveIndexConcurrently(
            model_name='stepstate',
            name='step_waiting',
        ),
        RemoveIndexConcurrently(
            model_name='archivedorder',
            name='archived_by_customer',
        ),
    ]
