"""The feed of changes: whose an event is, where it is in that feed, and the epoch of these positions.

Nothing is rewritten. Events of before, and those that an older release still writes, are in no feed.
"""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0050_cancelled_submissions")]

    operations = [
        migrations.CreateModel(
            name="FeedEpoch",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "cluster",
                    models.CharField(
                        help_text="the numbers of the server, its timeline, the database and the table",
                        max_length=60,
                    ),
                ),
                ("began_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddField(
            model_name="orderprocess",
            name="customer_id",
            field=models.IntegerField(help_text="whose order it is; 0 if it is nobody's", null=True),
        ),
        migrations.AddField(
            model_name="event",
            name="customer_id",
            field=models.IntegerField(help_text="whose order it is; 0 if it is nobody's", null=True),
        ),
        migrations.AddField(
            model_name="event",
            name="position",
            field=models.BigIntegerField(null=True),
        ),
    ]
