"""The counts behind the limits of how often one client may do something, in an unlogged table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0035_orders_by_total")]

    operations = [
        migrations.CreateModel(
            name="Bucket",
            fields=[
                (
                    "key",
                    models.CharField(
                        help_text="the limit, and a keyed hash of the subject",
                        max_length=100,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("full_at", models.DateTimeField(help_text="when it is full again, if nothing more is taken")),
            ],
        ),
        migrations.RunSQL("ALTER TABLE orders_bucket SET UNLOGGED", migrations.RunSQL.noop),
    ]
