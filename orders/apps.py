"""The project's only Django application."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from sasweb import database


class OrdersConfig(AppConfig):
    name = "orders"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Orders"

    def ready(self) -> None:
        """Makes `migrate` refuse a server on which no role would run, and has sign-ins noted."""
        register(check_database, Tags.database)
        import_module("orders.services.sign_ins").watch()  # by name: it needs the models


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
