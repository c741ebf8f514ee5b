from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0016_waiting_steps_by_failure'),
    ]

    operations = [
        RemoveIndexConcurrently(
            model_name='stepstate',
            name='step_waiting_for_agent',
        ),
    ]
