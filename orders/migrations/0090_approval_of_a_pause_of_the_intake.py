"""Names one more act that an admin can approve. The database does not change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orders", "0089_exchange_of_a_reply")]

    operations = [
        migrations.AlterField(
            model_name="approvalrequest",
            name="act",
            field=models.CharField(
                choices=[
                    ("settle_step", "settle step"),
                    ("force_circuit", "force circuit"),
                    ("unforce_circuit", "unforce circuit"),
                    ("erase_customer", "erase customer"),
                    ("compensate_order", "compensate order"),
                    ("decide", "decide"),
                    ("create_bulk_action", "create bulk action"),
                    ("pause_intake", "pause intake"),
                ],
                max_length=20,
            ),
        ),
    ]
