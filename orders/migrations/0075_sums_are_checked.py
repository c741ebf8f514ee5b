"""Checks the constraint of the last migration. Meanwhile bulk actions run; repeating it does nothing."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0074_sums_of_bulk_actions")]

    operations = [ValidateConstraint(model_name="bulkitem", name="the_sum_of_an_item_has_a_currency")]
