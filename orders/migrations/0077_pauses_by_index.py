"""Finds paused orders by an index, and checks the constraints of the last migration. Orders are processed meanwhile.

A build that was interrupted leaves an index that is not valid, so it is dropped first.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0076_pauses")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS process_paused", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="orderprocess",
            index=models.Index(
                fields=["paused_at"], condition=Q(paused_at__isnull=False), name="process_paused"
            ),
        ),
        ValidateConstraint(model_name="orderprocess", name="only_an_order_that_goes_forward_is_paused"),
        ValidateConstraint(model_name="orderprocess", name="only_a_pause_ends"),
    ]
