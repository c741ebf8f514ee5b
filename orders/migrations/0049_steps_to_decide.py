"""Finds what waits for a person's decision by its deadline, without a look at anything else that waits."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0048_awaiting_steps_checked")]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS step_to_decide", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="stepstate",
            index=models.Index(
                fields=["complete_by", "id"],
                condition=Q(state="awaiting", awaits__kind="decision"),
                name="step_to_decide",
            ),
        ),
    ]
