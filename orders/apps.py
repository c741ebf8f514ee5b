"""The Django application of the pattern, its pages and its API. Each business is an application of its own."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DatabaseError, connections

from orders.engine.errors import WorkflowError
from sasweb import database
from sasweb.environment import ConfigError


class OrdersConfig(AppConfig):
    name = "orders"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Orders"

    def ready(self) -> None:
        """Makes `migrate` refuse a server on which no role would run and warn of a demonstration in production, has
        sign-ins noted, and stops the start with one line if a business is not as it must be."""
        register(check_database, Tags.database)
        register(check_demonstration, Tags.database)
        # By name, since they need the models.
        import_module("orders.services.sign_ins").watch()
        try:
            import_module("orders.business.registry").check()
        except (ConfigError, WorkflowError) as error:
            sys.exit(f"sasweb: {error}")


def check_database(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Django's check of these databases, which `migrate` runs first. One that cannot be reached is left to Django."""
    errors: list[CheckMessage] = []
    for alias in databases or ():
        try:
            database.check_version(connections[alias].get_connection_params())
        except database.UnsuitableDatabase as error:
            errors.append(Error(str(error), id="orders.E001"))
        except database.UnreachableDatabase:
            continue
    return errors


def check_demonstration(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Django's check that no account of the demonstration, whose passwords are in a file, works outside DEBUG."""
    if settings.IS_DEMONSTRATION:
        return []
    accounts = "SELECT username FROM auth_user WHERE email LIKE %s AND is_active ORDER BY username"
    names: list[str] = []
    for alias in databases or ():
        try:
            with connections[alias].cursor() as cursor:
                cursor.execute(accounts, ["%@demo.invalid"])
                names += [name for (name,) in cursor.fetchall()]
        except DatabaseError:  # it has no tables yet, or cannot be reached
            continue
    if not names:
        return []
    return [
        Warning(
            f"accounts of the demonstration can sign in to this installation: {', '.join(names)}",
            hint="Delete them at /admin/auth/user/ or, if they have done something, take away *active* there.",
            id="orders.W001",
        )
    ]
