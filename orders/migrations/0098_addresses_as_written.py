"""Adds what an address can also have: a second line, a state and a phone number.

The columns have a constant default, so nothing is rewritten, and an older release that still inserts leaves them empty.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0097_order_numbers_by_index")]

    operations = [
        migrations.AddField(
            model_name="address",
            name="line2",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="address",
            name="state",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="address",
            name="phone",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        migrations.AlterField(
            model_name="address",
            name="postal_code",
            field=models.CharField(blank=True, max_length=200),
        ),
    ]
