"""Finds orders by their clients' own words, and lets a client have each reference once."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q

UNIQUE = "one_order_per_reference"


def index(model, built):
    """Builds an index while orders are processed. A build that was interrupted leaves an index that is not valid."""
    return [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {built.name}", migrations.RunSQL.noop),
        AddIndexConcurrently(model_name=model, index=built),
    ]


def by_reference(name):
    """An index of the orders that have a reference."""
    return models.Index(fields=["reference"], condition=~Q(reference=""), name=name)


def by_metadata(name, **options):
    """An index of what each order's metadata say."""
    return GinIndex(
        fields=["metadata"],
        opclasses=["jsonb_path_ops"],
        condition=Q(metadata__isnull=False),
        name=name,
        **options,
    )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0053_own_words")]

    operations = [
        migrations.RunSQL(
            [
                f"DROP INDEX CONCURRENTLY IF EXISTS {UNIQUE}",
                f"CREATE UNIQUE INDEX CONCURRENTLY {UNIQUE} ON orders_submissionkey (client, reference_hash)"
                " WHERE reference_hash IS NOT NULL",
            ],
            f"DROP INDEX CONCURRENTLY IF EXISTS {UNIQUE}",
            state_operations=[
                migrations.AddConstraint(
                    model_name="submissionkey",
                    constraint=models.UniqueConstraint(
                        fields=["client", "reference_hash"],
                        condition=Q(reference_hash__isnull=False),
                        name=UNIQUE,
                    ),
                ),
            ],
        ),
        *index("order", by_reference("order_by_reference")),
        *index("order", by_metadata("order_by_metadata")),
        *index("archivedorder", by_reference("archived_by_reference")),
        *index("archivedorder", by_metadata("archived_by_metadata", fastupdate=False)),
    ]
