"""The queries of the list of orders that operators save. A new table, which nothing writes yet."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("orders", "0080_next_requests_checked"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("query", models.CharField(max_length=500)),
                ("is_shared", models.BooleanField(default=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("by", models.CharField(max_length=150)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("owner"),
                        django.db.models.functions.text.Lower("name"),
                        name="an_owner_has_one_view_of_a_name",
                    ),
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"),
                        condition=models.Q(("is_shared", True)),
                        name="one_shared_view_has_a_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("name", ""), _negated=True), models.Q(("query", ""), _negated=True)
                        ),
                        name="a_view_has_a_name_and_a_query",
                    ),
                ],
            },
        ),
    ]
