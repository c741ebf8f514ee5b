"""Three keys had an index of their own and were the beginning of another.

Each is dropped in a transaction of its own; dropping one again does nothing. Django would also drop the foreign keys
and check every row anew.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

DOUBLES = {
    "orders_stepstate_order_id_06253fd1": "orders_stepstate (order_id)",
    "orders_order_customer_id_0b76f6a4": "orders_order (customer_id)",
    "orders_orderline_order_id_17f8f3ef": "orders_orderline (order_id)",
}


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("orders", "0040_hashed_and_sealed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"DROP INDEX CONCURRENTLY IF EXISTS {name}",
                    f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {columns}",
                )
                for name, columns in DOUBLES.items()
            ],
            state_operations=[
                migrations.AlterField(
                    model_name="order",
                    name="customer",
                    field=models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                migrations.AlterField(
                    model_name="orderline",
                    name="order",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lines",
                        to="orders.order",
                    ),
                ),
                migrations.AlterField(
                    model_name="stepstate",
                    name="process",
                    field=models.ForeignKey(
                        db_column="order_id",
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="orders.orderprocess",
                    ),
                ),
            ],
        ),
    ]
