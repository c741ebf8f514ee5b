"""`manage.py migrate`: Django's, which says in one line that the database cannot be reached."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections

from orders.management.operator_command import unreachable


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            connections[options["database"]].ensure_connection()
        except OperationalError as error:
            raise CommandError(unreachable(error)) from None
        super().handle(*args, **options)
