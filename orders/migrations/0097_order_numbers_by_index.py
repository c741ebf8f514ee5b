"""Gives every order a number that is found by an index, and no number to two orders that are placed from now on.

An order that was placed with neither key nor reference has no record yet. Each gets one, a thousand in a transaction, so
nobody waits. Orders from before may share a number: the later ones are marked, and found by an index of their own. All of
it is done while orders are processed, and can be begun again.
"""

from uuid import UUID

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Func, Q

UNIQUE = "one_order_per_number"
IN_SQL = "mod(('x' || left(encode(sha256(uuid_send({order_id})), 'hex'), 15))::bit(60)::bigint, 17249876309)"
NUMBER = Func(
    F("order_id"),
    template=IN_SQL.format(order_id="%(expressions)s"),
    output_field=models.BigIntegerField(),
)
BATCH = 1_000
CUSTOMER = "coalesce('user:' || customer_id, 'guest')"
PLACES = (
    ("orders_order", "id", CUSTOMER, "true"),
    ("orders_archivedorder", "order_id", CUSTOMER, "true"),
    ("orders_submissionmessage", "order_id", "client", "true"),
    ("orders_setaside", "order_id", "client", "replayed_at IS NULL"),
)
"""Where orders are: the table, its columns of the order's id and its client, and which rows count."""


def register(apps, schema_editor):
    """Gives each order without a record one."""
    for table, order_id, client, condition in PLACES:
        last = UUID(int=0)
        while last is not None:
            with schema_editor.connection.cursor() as cursor:
                cursor.execute(
                    f"""
                    WITH chunk AS (
                        SELECT DISTINCT ON ({order_id}) {order_id} AS order_id, {client} AS client
                          FROM {table}
                         WHERE {order_id} > %s AND {condition}
                         ORDER BY {order_id} LIMIT {BATCH}
                    ), registered AS (
                        INSERT INTO orders_submissionkey (client, body_hash, order_id)
                        SELECT client, '', order_id FROM chunk
                         WHERE NOT EXISTS (SELECT FROM orders_submissionkey AS k WHERE k.order_id = chunk.order_id)
                            ON CONFLICT DO NOTHING
                    )
                    SELECT order_id FROM chunk ORDER BY order_id DESC LIMIT 1
                    """,
                    [last],
                )
                row = cursor.fetchone()
            last = row[0] if row else None


MARK = f"""
    WITH numbered AS (
        SELECT id, row_number() OVER (PARTITION BY {IN_SQL.format(order_id="order_id")}
                                          ORDER BY shares_number, id) AS place
          FROM orders_submissionkey
    )
    UPDATE orders_submissionkey SET shares_number = true
     WHERE NOT shares_number AND id IN (SELECT id FROM numbered WHERE place > 1)
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0096_order_numbers")]

    operations = [
        migrations.RunPython(register, migrations.RunPython.noop),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS shared_number", migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name="submissionkey",
            index=models.Index(NUMBER, condition=Q(shares_number=True), name="shared_number"),
        ),
        migrations.RunSQL(
            [
                f"DROP INDEX CONCURRENTLY IF EXISTS {UNIQUE}",
                MARK,
                f"CREATE UNIQUE INDEX CONCURRENTLY {UNIQUE} ON orders_submissionkey"
                f" (({IN_SQL.format(order_id='order_id')})) WHERE NOT shares_number",
            ],
            f"DROP INDEX CONCURRENTLY IF EXISTS {UNIQUE}",
            state_operations=[
                migrations.AddConstraint(
                    model_name="submissionkey",
                    constraint=models.UniqueConstraint(
                        NUMBER, condition=Q(shares_number=False), name=UNIQUE
                    ),
                ),
            ],
        ),
    ]
