"""What archived orders of any kind are searched by."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0042_orders_of_any_kind")]

    operations = [
        migrations.AddField(
            model_name="archivedorder",
            name="attributes",
            field=ArrayField(models.CharField(max_length=240), db_default=[], help_text="as name=value"),
        ),
        migrations.AddField(
            model_name="archivedorder",
            name="subject",
            field=models.CharField(blank=True, db_default="", max_length=120),
        ),
    ]
