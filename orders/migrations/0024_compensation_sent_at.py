"""One table a migration: a migration that locked two could deadlock with a scheduler."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0023_requests_to_be_asked_about")]

    operations = [
        migrations.AddField(
            model_name="stepstate",
            name="compensation_sent_at",
            field=models.DateTimeField(
                help_text="when the present generation of the compensation was first dispatched", null=True
            ),
        ),
    ]
