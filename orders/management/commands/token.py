"""`manage.py token NAME`: makes an API token for an account, and prints it: this once, as only its hash is kept."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from knox.models import get_token_model

from orders.management.operator import operator_name
from orders.services import audit


class Command(BaseCommand):
    help = "Make an API token for an account, and print it. It may do what the account may do."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the account's name")
        parser.add_argument("--revoke", action="store_true", help="instead, end every token of the account")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints one line. Raises `CommandError` when there is no such account."""
        user = User.objects.filter(username=options["name"], is_active=True).first()
        if user is None:
            raise CommandError(f"there is no account {options['name']!r} that is open")
        self.stdout.write(_revoke(user) if options["revoke"] else _mint(user))


def _mint(user: User) -> str:
    """Makes a token and returns it; the audit log has that there is one more, and nothing of the token itself."""
    tokens = get_token_model().objects
    with transaction.atomic():
        had = tokens.filter(user=user).count()
        _, token = tokens.create(user, expiry=None)
        _record("token-make", user, "has a new token", before=had, after=had + 1)
    return str(token)


def _revoke(user: User) -> str:
    with transaction.atomic():
        ended, _ = get_token_model().objects.filter(user=user).delete()
        said = f"{ended} tokens ended"
        _record("token-revoke", user, said, before=ended, after=0)
    return said


def _record(act: str, user: User, said: str, *, before: int, after: int) -> None:
    audit.record(
        actor=audit.Actor(name=operator_name()),
        act=act,
        target=user.username[:120],
        said=said,
        before={"tokens": before},
        after={"tokens": after},
    )
