"""Finds superusers among the accounts by an index, which has no others: nearly all accounts are customers'.

Django's tables of accounts know nothing of it. A build that was interrupted leaves an index that is not valid, so it is
dropped first.
"""

from django.db import migrations


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("orders", "0087_release_of_a_process"), ("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.RunSQL(
            [
                "DROP INDEX CONCURRENTLY IF EXISTS account_superuser",
                "CREATE INDEX CONCURRENTLY account_superuser ON auth_user (id) WHERE is_superuser",
            ],
            "DROP INDEX CONCURRENTLY IF EXISTS account_superuser",
        ),
    ]
