"""`manage.py grant_rights`: gives the application's database role the rights that it needs, and no others."""

from typing import Any

from django.conf import settings
from django.db import connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import UndefinedFunction, UndefinedTable

from orders.management.operator_command import DONE, OperatorCommand, Stop
from sasweb.database_roles import UnsuitableRoleError, grant_rights


class Command(OperatorCommand):
    help = (
        "Give the role of DATABASE_URL the rights that the application needs, as the role of MIGRATE_DATABASE_URL."
        " Run it after each migrate."
    )

    def work(self, options: dict[str, Any]) -> int:
        if not settings.CONFIG.migrate_database_url:
            raise Stop(
                "MIGRATE_DATABASE_URL is not set: one role owns the tables and works with them, so there is nothing"
                " to grant (docs/operations.md, Two database roles)"
            )
        role = str(conninfo_to_dict(settings.CONFIG.database_url).get("user", ""))
        connection.ensure_connection()
        try:
            grant_rights(connection.connection, role=role)
        except UnsuitableRoleError as error:
            raise Stop(str(error)) from error
        except (UndefinedTable, UndefinedFunction) as error:
            raise Stop("the tables are not there yet: run manage.py migrate first") from error
        self.stdout.write(f"{role} may work with all tables; the audit log it can only read and add to.")
        return DONE
