"""Each process says which release it runs. A process of an earlier release leaves it empty."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0086_presence")]

    operations = [
        migrations.AddField(
            model_name="roleinstance",
            name="release",
            field=models.CharField(db_default="", max_length=40),
        ),
    ]
