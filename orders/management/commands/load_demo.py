"""`manage.py load_demo`: the demonstration catalogue, accounts and API token. It changes nothing that already
exists."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from orders.demo import loading
from orders.demo.accounts import ACCOUNTS


class Command(BaseCommand):
    help = (
        "Load the demonstration catalogue and accounts. Passwords and the API token are written to VAR_DIR."
        " Works only with DEBUG, and in a drill."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Loads what is missing, and says where the passwords are. Raises `CommandError` outside DEBUG."""
        if not settings.IS_DEMONSTRATION:
            raise CommandError(
                "the demonstration has an administrator whose password is in a file, so it is only loaded with"
                " DEBUG=true. Make your own first account with manage.py createsuperuser, and the catalogue at"
                " /admin/."
            )
        var_dir: Path = settings.CONFIG.var_dir
        loaded = loading.load(var_dir)
        self.stdout.write(
            f"demo: {', '.join(loaded.businesses)}; {loaded.accounts} of {len(ACCOUNTS)} accounts created,"
            f" see {var_dir / loading.ACCOUNTS_FILE};"
            f" API token {'created' if loaded.has_new_token else 'kept'}, see {var_dir / loading.TOKEN_FILE}"
        )
