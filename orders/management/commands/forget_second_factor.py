"""`manage.py forget_second_factor NAME`: lets an operator without phone and recovery codes set up a new factor."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.access import second_factor
from orders.management.operator_command import operator_name
from orders.services import audit


class Command(BaseCommand):
    help = "Remove an account's second factor and recovery codes, so that a new factor can be set up."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the account's name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line. Raises `CommandError` if there is no such account."""
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError(f"unknown account {options['name']!r}")
        second_factor.remove(user)
        audit.record(
            actor=audit.Actor(name=operator_name()),
            act="second factor remove",
            target=user.username[:120],
            result="has no second factor",
        )
        self.stdout.write(f"{user.username} has no second factor")
