"""Lets requests for approval go to the webhook of the alerts. What is allowed only grows, so no row needs a check.

The new constraint is checked apart from its addition, and the old one is dropped last, so that no time is without one.
"""

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models
from django.db.models import Q

OLD, NEW = "only_alerts_go_to_the_webhook", "only_messages_for_operators_go_to_the_webhook"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0083_paused_steps_by_index")]

    operations = [
        # One that was interrupted may have added it already.
        migrations.RunSQL(
            f"ALTER TABLE orders_outgoingmessage DROP CONSTRAINT IF EXISTS {NEW}", migrations.RunSQL.noop
        ),
        AddConstraintNotValid(
            model_name="outgoingmessage",
            constraint=models.CheckConstraint(
                condition=~Q(channel="webhook") | Q(kind__in=["alert", "approval"]), name=NEW
            ),
        ),
        ValidateConstraint(model_name="outgoingmessage", name=NEW),
        migrations.RemoveConstraint(model_name="outgoingmessage", name=OLD),
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
                ],
                max_length=12,
            ),
        ),
    ]
