"""Prepares for numbers of orders that no two have in common.

The number follows from the order's id. The column has a constant default, so nothing is rewritten, and an older
release that still inserts leaves it at that.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0093_order_updates_by_index")]

    operations = [
        migrations.AddField(
            model_name="submissionkey",
            name="shares_number",
            field=models.BooleanField(
                db_default=False,
                help_text="whether it had been placed before numbers were made unique, and is the later of two",
            ),
        ),
    ]
