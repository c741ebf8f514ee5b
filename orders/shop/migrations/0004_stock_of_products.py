"""What is left of each product, as the warehouse says, and how many prints a numbered edition has."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0003_delivery_terms")]

    operations = [
        migrations.CreateModel(
            name="StockReading",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("failing_since", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_reading_of_stock")
                ],
            },
        ),
        migrations.AddField(
            "product",
            "stock",
            models.PositiveIntegerField(
                null=True, blank=True, editable=False, help_text="how many are left; empty if not known"
            ),
        ),
        migrations.AddField(
            "product",
            "stock_read_at",
            models.DateTimeField(null=True, blank=True, editable=False),
        ),
        migrations.AddField(
            "product",
            "edition_size",
            models.PositiveIntegerField(
                null=True,
                blank=True,
                help_text="how many numbered prints there are of a signed edition; empty if they have no numbers",
            ),
        ),
        migrations.AddConstraint(
            "product",
            models.CheckConstraint(
                condition=models.Q(stock=None, stock_read_at=None)
                | models.Q(stock__isnull=False, stock_read_at__isnull=False),
                name="stock_was_read_at_a_time",
            ),
        ),
        migrations.AddConstraint(
            "product",
            models.CheckConstraint(
                condition=models.Q(edition_size=None)
                | models.Q(edition="signed", edition_size__gte=1, edition_size__lte=9_999),
                name="only_a_signed_edition_is_numbered",
            ),
        ),
    ]
