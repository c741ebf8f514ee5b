"""A token says which other one replaces it. The default is a constant of the database, so nothing is rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0063_logged_requests")]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="replaced_by",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="how the token begins that replaces this one",
                max_length=12,
            ),
        ),
    ]
