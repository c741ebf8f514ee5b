"""`manage.py token NAME`: creates an API token for an account and prints it, once: only its hash is stored."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from knox.models import get_token_model

from orders.management.operator_command import operator_name
from orders.services import audit
from orders.wording.units import counted


class Command(BaseCommand):
    help = "Create an API token for an account and print it. The token may do whatever its account may do."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the account's name")
        parser.add_argument("--revoke", action="store_true", help="revoke every token of the account instead")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line. Raises `CommandError` if there is no such account."""
        user = User.objects.filter(username=options["name"], is_active=True).first()
        if user is None:
            raise CommandError(f"unknown or inactive account {options['name']!r}")
        self.stdout.write(_revoke(user) if options["revoke"] else _mint(user))


def _mint(user: User) -> str:
    """Creates a token and returns it. The audit log records that it was created, but not the token itself."""
    tokens = get_token_model().objects
    with transaction.atomic():
        count = tokens.filter(user=user).count()
        _, token = tokens.create(user, expiry=None)
        _record("token-make", user, "created an API token", before=count, after=count + 1)
    return str(token)


def _revoke(user: User) -> str:
    with transaction.atomic():
        revoked, _ = get_token_model().objects.filter(user=user).delete()
        result = f"{counted(revoked, 'token')} revoked"
        _record("token-revoke", user, result, before=revoked, after=0)
    return result


def _record(act: str, user: User, result: str, *, before: int, after: int) -> None:
    audit.record(
        actor=audit.Actor(name=operator_name()),
        act=act,
        target=user.username[:120],
        result=result,
        before={"tokens": before},
        after={"tokens": after},
    )
