"""Who is looking at an order or a cause, and operator is about to act on it. A new table, so no lock is held for long."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0085_edits_in_bulk")]

    operations = [
        migrations.CreateModel(
            name="Presence",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(help_text="order or group", max_length=10)),
                ("target", models.CharField(help_text="the id of the order or the group", max_length=40)),
                ("act", models.CharField(blank=True, max_length=40)),
                ("operator", models.CharField(max_length=200)),
                ("since", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "target", "operator", "act"), name="a_person_is_at_a_page_once"
                    )
                ],
            },
        ),
    ]
