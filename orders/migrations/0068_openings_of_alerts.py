from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0067_figures")]

    operations = [
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS alert_by_opening", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="alert",
            index=models.Index(fields=["opened_at"], name="alert_by_opening"),
        ),
    ]
