"""A kind of alert for orders that will be late at the present pace.

The constraint only allows more than before, so rows that are there need no check while the table is locked; 0073 has
them checked.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0070_shifts"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="alert",
            name="an_alert_has_one_subject",
        ),
        migrations.AlterField(
            model_name="alert",
            name="kind",
            field=models.CharField(
                choices=[
                    ("step_failed", "step failed"),
                    ("compensation_failed", "compensation failed"),
                    ("order_overran", "order overran"),
                    ("unprocessable", "unprocessable"),
                    ("set_aside", "set aside"),
                    ("outage", "outage"),
                    ("release", "release"),
                    ("stalled", "stalled"),
                    ("late", "late"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="alertgroup",
            name="kind",
            field=models.CharField(
                choices=[
                    ("step_failed", "step failed"),
                    ("compensation_failed", "compensation failed"),
                    ("order_overran", "order overran"),
                    ("unprocessable", "unprocessable"),
                    ("set_aside", "set aside"),
                    ("outage", "outage"),
                    ("release", "release"),
                    ("stalled", "stalled"),
                    ("late", "late"),
                ],
                max_length=20,
            ),
        ),
        AddConstraintNotValid(
            model_name="alert",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind", "outage"), ("order_id__isnull", True), ("subject", "")),
                    models.Q(
                        ("kind__in", ["release", "stalled", "late"]),
                        ("order_id__isnull", True),
                        models.Q(("subject", ""), _negated=True),
                    ),
                    models.Q(
                        models.Q(("kind__in", ["outage", "release", "stalled", "late"]), _negated=True),
                        ("order_id__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="an_alert_has_one_subject",
            ),
        ),
    ]
