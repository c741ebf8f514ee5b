"""What a business is told of its orders is told again after its receivers have failed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0045_data_of_orders")]

    operations = [
        migrations.AddField(
            model_name="statusmessage",
            name="failures",
            field=models.PositiveIntegerField(
                db_default=0, help_text="how often the business's own receivers have failed"
            ),
        ),
        migrations.AddField(
            model_name="statusmessage",
            name="not_before",
            field=models.DateTimeField(null=True, help_text="when they are told again after a failure"),
        ),
    ]
