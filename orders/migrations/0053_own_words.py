"""Clients give their orders a reference and metadata.

The new columns are nullable or have a constant default, so nothing is rewritten, and an older release that still
inserts leaves them empty. A key may be missing now: a submission with only a reference has a record, too. Each table is
locked alone, for a moment; a migration that was interrupted is simply repeated.
"""

from django.db import migrations, models


def columns(model, **helps):
    """The columns of a table of orders."""
    return migrations.RunSQL(
        f"ALTER TABLE orders_{model} ADD COLUMN IF NOT EXISTS reference varchar(120) DEFAULT '' NOT NULL,"
        " ADD COLUMN IF NOT EXISTS metadata jsonb NULL",
        f"ALTER TABLE orders_{model} DROP COLUMN reference, DROP COLUMN metadata",
        state_operations=[
            migrations.AddField(
                model_name=model,
                name="reference",
                field=models.CharField(
                    blank=True,
                    db_default="",
                    default="",
                    max_length=120,
                    **({"help_text": helps["reference"]} if helps else {}),
                ),
            ),
            migrations.AddField(
                model_name=model,
                name="metadata",
                field=models.JSONField(
                    null=True, **({"help_text": helps["metadata"]} if helps else {})
                ),
            ),
        ],
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0052_events_by_customer")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE orders_submissionkey ALTER COLUMN key DROP NOT NULL,"
            " ADD COLUMN IF NOT EXISTS reference_hash varchar(64) NULL",
            "ALTER TABLE orders_submissionkey DROP COLUMN reference_hash",
            state_operations=[
                migrations.AlterField(
                    model_name="submissionkey", name="key", field=models.CharField(max_length=255, null=True)
                ),
                migrations.AddField(
                    model_name="submissionkey",
                    name="reference_hash",
                    field=models.CharField(max_length=64, null=True),
                ),
            ],
        ),
        columns(
            "order",
            reference="what its client calls it",
            metadata="its client's own texts by their names, if it has any",
        ),
        columns("archivedorder"),
    ]
