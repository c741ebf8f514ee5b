"""Steps that are reversed before they ask for something else.

The column may be null, so nothing is rewritten. No row that is there breaks the constraint; the next migration has it
checked while orders are processed.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("orders", "0078_waits_for_agents")]

    operations = [
        migrations.AddField(
            model_name="stepstate",
            name="next_request",
            field=models.JSONField(
                help_text="what the next generation asks for, once the present one, which may have been done, is reversed",
                null=True,
            ),
        ),
        AddConstraintNotValid(
            model_name="stepstate",
            constraint=models.CheckConstraint(
                condition=Q(next_request__isnull=True)
                | Q(outcome="unknown", state__in=["failed", "compensating", "awaiting"]),
                name="only_what_may_be_done_is_reversed",
            ),
        ),
    ]
