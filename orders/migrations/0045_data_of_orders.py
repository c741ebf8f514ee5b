"""Gives the orders that are there already their data and titles, chunk by chunk, and builds the new indexes."""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import connections, migrations, models
from django.db.models import Q

CHUNK = 500
"""Orders in one transaction."""
FILL = """
    WITH chunk AS (
        SELECT id FROM orders_order WHERE id > %(after)s ORDER BY id LIMIT %(size)s
    ), line AS (
        SELECT order_id,
               jsonb_agg(jsonb_build_object('sku', sku, 'title', title, 'quantity', quantity,
                                            'unit_price', unit_price) ORDER BY id) AS rows,
               left(string_agg(quantity || ' × ' || title, ', ' ORDER BY id), 200) AS title
          FROM orders_orderline
         WHERE order_id IN (SELECT id FROM chunk)
         GROUP BY order_id
    ), filled AS (
        UPDATE orders_order AS o
           SET title = line.title,
               data = jsonb_build_object('lines', line.rows, 'ship_to', o.ship_to, 'email', o.email,
                                         'payment_method', o.payment_method, 'currency', o.currency,
                                         'total', o.total)
          FROM line
         WHERE o.id = line.order_id AND o.data IS NULL
    )
    SELECT max(id::text), count(*) FROM chunk
"""


def fill_columns(apps, schema_editor):
    """Fills the columns of the orders that were inserted before there were these columns."""
    after, number = "00000000-0000-0000-0000-000000000000", CHUNK
    while number == CHUNK:
        with connections[schema_editor.connection.alias].cursor() as cursor:
            cursor.execute(FILL, {"after": after, "size": CHUNK})
            after, number = cursor.fetchone()


def index(model, name, built):
    """Builds an index while orders are processed. A build that was interrupted leaves an index that is not valid."""
    return [
        migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", migrations.RunSQL.noop),
        AddIndexConcurrently(model_name=model, index=built),
    ]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0044_products_are_the_shops")]

    operations = [
        migrations.RunPython(fill_columns, migrations.RunPython.noop),
        ValidateConstraint(model_name="order", name="a_value_has_a_currency"),
        *index(
            "order",
            "order_by_subject",
            models.Index(condition=~Q(subject=""), fields=["subject"], name="order_by_subject"),
        ),
        *index(
            "order",
            "order_by_attribute",
            GinIndex(condition=~Q(attributes=[]), fields=["attributes"], name="order_by_attribute"),
        ),
        *index(
            "archivedorder",
            "archived_by_subject",
            models.Index(condition=~Q(subject=""), fields=["subject"], name="archived_by_subject"),
        ),
        *index(
            "archivedorder",
            "archived_by_attribute",
            GinIndex(
                condition=~Q(attributes=[]),
                fastupdate=False,
                fields=["attributes"],
                name="archived_by_attribute",
            ),
        ),
    ]
