"""Messages of response queues are numbered and leased.

The defaults are constants of the database, so nothing is rewritten, and what an older release posts is not numbered.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0054_own_words_by_index")]

    operations = [
        migrations.CreateModel(
            name="StatusCount",
            fields=[
                ("order_id", models.UUIDField(primary_key=True, serialize=False)),
                ("posted", models.PositiveIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name="statusmessage", name="sequence", field=models.PositiveIntegerField(db_default=0)
        ),
        migrations.AddField(
            model_name="statusmessage", name="lease", field=models.UUIDField(null=True)
        ),
        migrations.AddField(
            model_name="statusmessage", name="leased_until", field=models.DateTimeField(null=True)
        ),
        migrations.AddField(
            model_name="statusmessage",
            name="deliveries",
            field=models.PositiveIntegerField(db_default=0, help_text="how often it has been leased"),
        ),
    ]
