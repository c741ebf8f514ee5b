"""Indexes by which the console finds an order among a million: by the end of its id, and by its mail address.

They are on expressions and part of no model.
"""

from django.db import migrations

BY_ENDING = [
    "DROP INDEX CONCURRENTLY IF EXISTS process_by_ending",
    """
    CREATE INDEX CONCURRENTLY process_by_ending
        ON orders_orderprocess (reverse(order_id::text) text_pattern_ops)
    """,
]
BY_EMAIL = [
    "DROP INDEX CONCURRENTLY IF EXISTS order_by_email",
    "CREATE INDEX CONCURRENTLY order_by_email ON orders_order (lower(email), id)",
]


class Migration(migrations.Migration):
    atomic = False  # an index is built beside the orders, and a build that was interrupted is begun again
    dependencies = [("orders", "0004_roles")]

    operations = [
        migrations.RunSQL(BY_ENDING, "DROP INDEX CONCURRENTLY IF EXISTS process_by_ending"),
        migrations.RunSQL(BY_EMAIL, "DROP INDEX CONCURRENTLY IF EXISTS order_by_email"),
    ]
