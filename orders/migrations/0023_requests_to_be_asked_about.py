from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0022_erasable_audit")]

    operations = [
        migrations.AddField(
            model_name="agentrequest",
            name="is_repeat",
            field=models.BooleanField(
                db_default=False, help_text="whether an earlier attempt may have had the effect"
            ),
        ),
        migrations.AddField(
            model_name="agentrequest",
            name="key_is_known",
            field=models.BooleanField(
                db_default=True, help_text="whether the remote service recognises a repeated call by its key"
            ),
        ),
    ]
