"""Operators' notes on single orders. A new table, so no lock is held for long."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0090_approval_of_a_pause_of_the_intake")]

    operations = [
        migrations.CreateModel(
            name="OrderNote",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("order_id", models.UUIDField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("by", models.CharField(max_length=120)),
                ("text", models.TextField()),
            ],
            options={
                "indexes": [models.Index(fields=["order_id", "-id"], name="note_by_order")],
                "constraints": [
                    models.CheckConstraint(condition=~models.Q(text=""), name="a_note_has_text"),
                ],
            },
        ),
    ]
