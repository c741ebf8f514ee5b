"""Clients give their orders a reference and metadata.

The new columns are nullable or have a constant default, so nothing is rewritten, and an older release that still
inserts leaves them empty. A key may be missing now: a submission with only a reference has a record, too.
"""

from django.db import migrations, models

def columns(model):
    """The columns of a table of orders."""
    return [
        migrations.AddField(
            model_name=model,
            name="reference",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=120,
                **({"help_text": "what its client calls it"} if model == "order" else {}),
            ),
        ),
        migrations.AddField(
            model_name=model,
            name="metadata",
            field=models.JSONField(
                null=True,
                **(
                    {"help_text": "its client's own texts by their names, if it has any"}
                    if model == "order"
                    else {}
                ),
            ),
        ),
    ]


class Migration(migrations.Migration):
    dependencies = [("orders", "0052_events_by_customer")]

    operations = [
        migrations.AlterField(
            model_name="submissionkey", name="key", field=models.CharField(max_length=255, null=True)
        ),
        migrations.AddField(
            model_name="submissionkey",
            name="reference_hash",
            field=models.CharField(max_length=64, null=True),
        ),
        *columns("order"),
        *columns("archivedorder"),
    ]
