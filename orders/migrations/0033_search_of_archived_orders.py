"""What archived orders are searched by. Nothing but retention writes them, so the indexes can share a migration."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import connections, migrations, models

CHUNK = 500
"""Orders in one transaction."""
FILL = """
    WITH chunk AS (
        SELECT order_id FROM orders_archivedorder WHERE order_id > %(after)s ORDER BY order_id LIMIT %(size)s
    ), filled AS (
        UPDATE orders_archivedorder AS o
           SET skus = ARRAY(SELECT line ->> 'sku' FROM jsonb_array_elements(o.document -> 'lines') AS line),
               placed_at = coalesce(o.placed_at, (o.document #>> '{process,created_at}')::timestamptz)
          FROM chunk
         WHERE o.order_id = chunk.order_id AND (o.skus = '{}' OR o.placed_at IS NULL)
    )
    SELECT max(order_id::text), count(*) FROM chunk
"""


def fill_columns(apps, schema_editor):
    """Fills the columns of the orders that were archived before there were these columns, chunk by chunk."""
    after, number = "00000000-0000-0000-0000-000000000000", CHUNK
    while number == CHUNK:
        with connections[schema_editor.connection.alias].cursor() as cursor:
            cursor.execute(FILL, {"after": after, "size": CHUNK})
            after, number = cursor.fetchone()


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0032_skus_of_archived_orders")]

    operations = [
        migrations.RunPython(fill_columns, migrations.RunPython.noop),
        # A build that was interrupted leaves an index that is not valid.
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS archived_by_state", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="archivedorder",
            index=models.Index(fields=["state", "-placed_at", "-order_id"], name="archived_by_state"),
        ),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS archived_by_total", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="archivedorder",
            index=models.Index(fields=["total", "-placed_at", "-order_id"], name="archived_by_total"),
        ),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS archived_by_sku", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="archivedorder",
            index=GinIndex(fastupdate=False, fields=["skus"], name="archived_by_sku"),
        ),
    ]
