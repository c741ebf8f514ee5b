from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0029_no_indexes_of_ids")]

    operations = [
        migrations.AddField(
            model_name="agentrequest",
            name="settled_deliveries",
            field=models.PositiveSmallIntegerField(
                db_default=0, help_text="how many of them were given back with no call under way"
            ),
        ),
    ]
