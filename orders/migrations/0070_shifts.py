"""Owners, snoozes and tickets of alert groups, own runbooks, and the notes of the hand-over. Groups are few, so the locks
are brief."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0069_customer_terms"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="HandoverNote",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("by", models.CharField(max_length=120)),
                ("since", models.DateTimeField()),
                ("text", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="OwnRunbook",
            fields=[
                ("code", models.CharField(max_length=60, primary_key=True, serialize=False)),
                ("text", models.TextField()),
                ("by", models.CharField(max_length=120)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="owned_at",
            field=models.DateTimeField(help_text="since when the owner has it", null=True),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="snooze_most",
            field=models.PositiveIntegerField(
                help_text="it comes back when so many alerts are open", null=True
            ),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="snoozed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="snoozed_by",
            field=models.CharField(blank=True, db_default="", max_length=120),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="snoozed_until",
            field=models.DateTimeField(help_text="null unless it is snoozed", null=True),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="ticket_url",
            field=models.CharField(blank=True, db_default="", max_length=500),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="woken_at",
            field=models.DateTimeField(help_text="when it last came back by itself", null=True),
        ),
        migrations.AddField(
            model_name="alertgroup",
            name="woken_why",
            field=models.CharField(blank=True, db_default="", max_length=200),
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
                ],
                max_length=12,
            ),
        ),
        migrations.AddConstraint(
            model_name="alertgroup",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("snooze_most__isnull", True),
                        ("snoozed_at__isnull", True),
                        ("snoozed_until__isnull", True),
                    ),
                    models.Q(
                        ("snoozed_at__isnull", False),
                        ("snoozed_until__isnull", False),
                        models.Q(("snoozed_by", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="a_snoozed_group_says_who_and_until_when",
            ),
        ),
    ]
