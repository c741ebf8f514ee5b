"""A bulk action may edit its orders. Only what Django knows of the column changes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0084_requests_by_message")]

    operations = [
        migrations.AlterField(
            model_name="bulkaction",
            name="kind",
            field=models.CharField(
                max_length=12,
                choices=[("resubmit", "resubmit"), ("compensate", "compensate"), ("edit", "edit")],
            ),
        ),
    ]
