"""A reply says what was sent and answered. That of an agent host of an earlier release does not."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0088_superusers_by_index")]

    operations = [
        migrations.AddField(
            model_name="agentreply",
            name="exchange",
            field=models.JSONField(help_text="what was sent and answered, if the call succeeded", null=True),
        ),
    ]
