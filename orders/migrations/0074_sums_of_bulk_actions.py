"""What the orders of a bulk action are about in money, which request approved it, and which actions it is between.

The columns may be null or have a default of the database's, so nothing is rewritten, and the release before this one
still inserts rows.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("orders", "0073_late_alerts_are_checked")]

    operations = [
        migrations.AddField(
            model_name="bulkaction",
            name="approval",
            field=models.BigIntegerField(
                help_text="the number of the request that an admin approved", null=True
            ),
        ),
        migrations.AddField(
            model_name="bulkaction",
            name="predecessor",
            field=models.BigIntegerField(
                help_text="the number of the action whose orders that failed again these are", null=True
            ),
        ),
        migrations.AddField(
            model_name="bulkaction",
            name="successor",
            field=models.BigIntegerField(
                help_text="the number of the newest action on its orders that failed again",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="bulkitem",
            name="amount",
            field=models.PositiveBigIntegerField(help_text="in minor units", null=True),
        ),
        migrations.AddField(
            model_name="bulkitem",
            name="currency",
            field=models.CharField(blank=True, db_default="", max_length=3),
        ),
        migrations.AddField(
            model_name="bulkitem",
            name="is_held",
            field=models.BooleanField(
                db_default=False, help_text="whether the amount is only reserved, so it is released"
            ),
        ),
        # The rows that are there have no sum, so they need no check while the table is locked.
        AddConstraintNotValid(
            model_name="bulkitem",
            constraint=models.CheckConstraint(
                condition=Q(amount=None, currency="", is_held=False)
                | (Q(amount__isnull=False) & ~Q(currency="")),
                name="the_sum_of_an_item_has_a_currency",
            ),
        ),
    ]
