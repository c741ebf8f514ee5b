"""Empties the database after a test that commits.

Django's own way truncates every table, makes new files for all of them and their indexes, and then writes content types
and permissions anew. It takes a hundred times as long as most of these tests.
"""

from functools import cache
from typing import Any

from django.db import connection, transaction

KEPT = {"django_migrations", "django_content_type", "auth_permission"}
"""What the migrations have written, and no test changes."""
LARGE = 10 * 8_192
"""Bytes from which a table is truncated. That is what the planner takes an empty table for, so a table of deleted rows
leads to no other plans."""


def empty_tables(_test: Any = None) -> None:
    """Deletes all rows. Neither foreign keys nor the triggers that protect the audit log are in the way."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_looks())
        sizes = dict(cursor.fetchall())
        if not sizes:
            return
        cursor.execute("SET LOCAL session_replication_role = replica")
        large = [table for table, size in sizes.items() if size >= LARGE]
        if large:
            cursor.execute(f"TRUNCATE {', '.join(large)} CASCADE")
        for table in sizes.keys() - set(large):
            cursor.execute(f"DELETE FROM {table}")


@cache
def _looks() -> str:
    """The statement that finds the tables which have rows, and their sizes."""
    tables = set(connection.introspection.django_table_names(only_existing=True, include_views=False)) - KEPT
    return " UNION ALL ".join(
        f"SELECT '{table}', pg_relation_size('{table}') WHERE EXISTS (SELECT FROM {table})"
        for table in sorted(tables)
    )
