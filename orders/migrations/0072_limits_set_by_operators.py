"""Limits of an agent that an operator has set. The columns may be null, so nothing is rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0071_orders_that_will_be_late"),
    ]

    operations = [
        migrations.AddField(
            model_name="circuit",
            name="set_capacity",
            field=models.PositiveIntegerField(
                help_text="the most requests outstanding at once, by an operator; null for what its hosts can take",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="circuit",
            name="set_rate",
            field=models.FloatField(
                help_text="the same, by an operator; null for the agent's own", null=True
            ),
        ),
    ]
