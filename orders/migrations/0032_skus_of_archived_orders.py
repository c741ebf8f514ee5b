import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0031_retention_failures_and_erasures")]

    operations = [
        migrations.AddField(
            model_name="archivedorder",
            name="skus",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40),
                db_default=[],
                help_text="of its lines",
                size=None,
            ),
        ),
        migrations.AlterField(
            model_name="archivedorder",
            name="placed_at",
            field=models.DateTimeField(
                help_text="if the shop never knew it, when it was inserted", null=True
            ),
        ),
    ]
