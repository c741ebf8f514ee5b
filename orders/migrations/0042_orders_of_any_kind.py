"""An order is of any kind: it has its data and a profile, and no more columns of one business.

The columns of the shop stay for the release before this one, which still writes them.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("orders", "0041_no_indexes_twice")]

    operations = [
        migrations.RemoveConstraint(model_name="order", name="order_has_a_total"),
        migrations.AddField(
            model_name="order",
            name="attributes",
            field=ArrayField(
                models.CharField(max_length=240),
                db_default=[],
                help_text="what it is searched by, as name=value",
            ),
        ),
        migrations.AddField(model_name="order", name="data", field=models.JSONField(null=True)),
        migrations.AddField(
            model_name="order",
            name="promised_by",
            field=models.DateTimeField(help_text="when its customer expects it to be done", null=True),
        ),
        migrations.AddField(
            model_name="order",
            name="subject",
            field=models.CharField(
                blank=True, db_default="", help_text="what the order is about", max_length=120
            ),
        ),
        migrations.AddField(
            model_name="order", name="title", field=models.CharField(blank=True, db_default="", max_length=200)
        ),
        migrations.AlterField(
            model_name="order",
            name="currency",
            field=models.CharField(blank=True, db_default="", max_length=3),
        ),
        migrations.AlterField(
            model_name="order",
            name="email",
            field=models.EmailField(blank=True, db_default="", max_length=254),
        ),
        migrations.AlterField(
            model_name="order",
            name="payment_method",
            field=models.CharField(blank=True, db_default="", max_length=64),
        ),
        migrations.AlterField(
            model_name="order",
            name="ship_to",
            field=models.JSONField(help_text="only of orders from before there were data", null=True),
        ),
        migrations.AlterField(
            model_name="order",
            name="total",
            field=models.PositiveBigIntegerField(
                help_text="its value in minor units, if it has one", null=True
            ),
        ),
        AddConstraintNotValid(
            model_name="order",
            constraint=models.CheckConstraint(
                condition=Q(total=None, currency="") | (Q(total__isnull=False) & ~Q(currency="")),
                name="a_value_has_a_currency",
            ),
        ),
    ]
