from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('orders', '0014_request_posted_by'),
    ]

    operations = [
        RemoveIndexConcurrently(
            model_name='agentrequest',
            name='request_leased',
        ),
    ]
