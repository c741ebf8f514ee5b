"""A submission says what its order works towards, so that its customer may cancel it before it is inserted.

The default is a constant of the database, so nothing is rewritten, and an older release that still posts gets it.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0049_steps_to_decide")]

    operations = [
        migrations.AddField(
            model_name="submissionmessage",
            name="goal",
            field=models.CharField(
                choices=[("complete", "complete"), ("compensate", "compensate")],
                db_default="complete",
                default="complete",
                max_length=10,
            ),
        ),
    ]
