"""The table of products, which was made before the shop was an application of its own."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

PRODUCT = migrations.CreateModel(
    name="Product",
    fields=[
        ("sku", models.CharField(max_length=40, primary_key=True, serialize=False)),
        ("size", models.CharField(blank=True, help_text="centimetres, as in 30x40", max_length=12)),
        (
            "edition",
            models.CharField(
                choices=[("open", "Open edition"), ("signed", "Signed and numbered")],
                default="open",
                max_length=12,
            ),
        ),
        ("title", models.CharField(max_length=120)),
        ("artist", models.CharField(max_length=120)),
        ("description", models.TextField(blank=True)),
        ("price", models.PositiveIntegerField(help_text="minor units")),
        ("currency", models.CharField(default="EUR", max_length=3)),
        ("design", models.JSONField(default=dict)),
        ("is_listed", models.BooleanField(default=True)),
        (
            "rank",
            models.PositiveIntegerField(
                default=1000, help_text="position among the featured posters, lowest first"
            ),
        ),
        ("added_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
        (
            "variant_of",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="variants",
                to="shop.product",
            ),
        ),
    ],
    options={
        "db_table": "orders_product",
        "ordering": ("title",),
        "constraints": [
            models.CheckConstraint(condition=models.Q(("price__gt", 0)), name="product_has_a_price"),
            models.CheckConstraint(
                condition=models.Q(variant_of=None) | ~models.Q(variant_of=models.F("sku")),
                name="product_is_no_variant_of_itself",
            ),
            models.UniqueConstraint(
                fields=("variant_of", "size", "edition"), name="one_variant_per_size_and_edition"
            ),
        ],
    },
)


def keep_permissions(apps, schema_editor):
    """Renames the content type, so that permissions and the admin site's history stay with the products."""
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(
        schema_editor.connection.alias
    )
    content_types.filter(app_label="orders", model="product").update(app_label="shop")


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("orders", "0044_products_are_the_shops"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[PRODUCT]),
        migrations.RunPython(keep_permissions, migrations.RunPython.noop),
    ]
