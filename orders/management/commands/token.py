"""`manage.py token NAME`: makes an API token for an account, and prints it: this once, as only its hash is kept."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from knox.models import get_token_model


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
        tokens = get_token_model().objects
        if options["revoke"]:
            ended, _ = tokens.filter(user=user).delete()
            self.stdout.write(f"{ended} tokens ended")
            return
        _, token = tokens.create(user, expiry=None)
        self.stdout.write(token)
