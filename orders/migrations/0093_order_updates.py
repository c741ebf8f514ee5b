"""Orders whose customers are emailed what becomes of them. The column has a constant default, so no table is rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0092_steps_to_settle")]

    operations = [
        migrations.CreateModel(
            name="OrderUpdateReader",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                (
                    "position",
                    models.BigIntegerField(
                        help_text="of the last event that was read, in the feed of changes"
                    ),
                ),
                ("event_id", models.BigIntegerField()),
                (
                    "looked_for_late_at",
                    models.DateTimeField(help_text="when orders were last looked for that are late"),
                ),
            ],
        ),
        migrations.AddField(
            model_name="order",
            name="tells_customer",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="whether its customer is emailed what becomes of it",
            ),
        ),
        migrations.AlterField(
            model_name="outgoingmessage",
            name="kind",
            field=models.CharField(
                choices=[
                    ("alert", "alert"),
                    ("order_link", "order link"),
                    ("sign_up", "sign up"),
                    ("new_password", "new password"),
                    ("webhook_off", "webhook off"),
                    ("handover", "handover"),
                    ("approval", "approval"),
                    ("order_update", "order update"),
                ],
                max_length=12,
            ),
        ),
    ]
