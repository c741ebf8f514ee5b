"""Each token is pinned to a version of the API. The default is a constant of the database, so nothing is rewritten, and
what an older release creates is pinned to the version that it knows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0057_webhooks")]

    operations = [
        migrations.AddField(
            model_name="apitoken",
            name="version",
            field=models.CharField(
                db_default="2026-11-26",
                help_text="of the API, which answers it unless it names another",
                max_length=10,
            ),
        ),
    ]
