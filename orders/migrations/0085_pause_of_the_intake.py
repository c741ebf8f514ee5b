"""That no new orders are accepted: a new table of one row at most."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0081_saved_views")]

    operations = [
        migrations.CreateModel(
            name="IntakePause",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("until", models.DateTimeField(null=True)),
                ("by", models.CharField(max_length=120)),
                ("reason", models.CharField(max_length=200)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="the_intake_has_one_pause_at_most"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True),
                        name="a_pause_of_the_intake_has_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("until__isnull", True), ("until__gt", models.F("at")), _connector="OR"
                        ),
                        name="a_pause_of_the_intake_ends_after_it_began",
                    ),
                ],
            },
        ),
    ]
