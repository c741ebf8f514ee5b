"""A line has the code of what was ordered, whatever business sells it. The table of products belongs to the shop now.

The column of a line's code stays, with its indexes; only the foreign key goes.
"""

from django.db import migrations, models

# In the order in which submission comes to them, so that it cannot deadlock with this.
DROP_FOREIGN_KEY = """
    LOCK TABLE orders_product, orders_orderline;
    DO $$
    DECLARE
        name text;
    BEGIN
        FOR name IN SELECT conname FROM pg_constraint
                     WHERE conrelid = 'orders_orderline'::regclass AND confrelid = 'orders_product'::regclass
        LOOP
            EXECUTE format('ALTER TABLE orders_orderline DROP CONSTRAINT %I', name);
        END LOOP;
    END $$
"""


class Migration(migrations.Migration):
    dependencies = [("orders", "0043_archived_orders_of_any_kind")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(DROP_FOREIGN_KEY, migrations.RunSQL.noop)],
            state_operations=[
                migrations.RemoveConstraint(model_name="orderline", name="one_line_per_product"),
                migrations.RemoveField(model_name="orderline", name="product"),
                migrations.AddField(
                    model_name="orderline",
                    name="sku",
                    field=models.CharField(db_index=True, max_length=40),
                    preserve_default=False,
                ),
                migrations.AddConstraint(
                    model_name="orderline",
                    constraint=models.UniqueConstraint(fields=("order", "sku"), name="one_line_per_product"),
                ),
                migrations.RemoveField(model_name="product", name="variant_of"),
                migrations.DeleteModel(name="Product"),
            ],
        ),
    ]
