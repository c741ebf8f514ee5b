"""Orders that an operator has paused.

The columns may be null, so nothing is rewritten. No row can fail the constraints, which only rows that are paused can;
the next migration has them checked while orders are processed.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

CONSTRAINTS = (
    models.CheckConstraint(
        condition=Q(paused_at__isnull=True)
        | Q(goal="complete", process_state__in=["pending", "processing", "error"]),
        name="only_an_order_that_goes_forward_is_paused",
    ),
    models.CheckConstraint(
        condition=Q(paused_until__isnull=True) | Q(paused_at__isnull=False), name="only_a_pause_ends"
    ),
)


class Migration(migrations.Migration):
    dependencies = [("orders", "0075_sums_are_checked")]

    operations = [
        migrations.AddField(
            model_name="orderprocess",
            name="paused_at",
            field=models.DateTimeField(
                help_text="since when an operator has had the order paused", null=True
            ),
        ),
        migrations.AddField(
            model_name="orderprocess",
            name="paused_until",
            field=models.DateTimeField(help_text="when the pause ends by itself, if it does", null=True),
        ),
        *(
            AddConstraintNotValid(model_name="orderprocess", constraint=constraint)
            for constraint in CONSTRAINTS
        ),
    ]
