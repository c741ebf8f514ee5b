"""`manage.py load_demo`: the demonstration catalogue, accounts and API token. It changes nothing that already
exists."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection, transaction

from orders.demo.accounts import ACCOUNTS, make_accounts, make_token
from orders.demo.catalogue import load_catalogue
from orders.demo.posters import POSTERS


class Command(BaseCommand):
    help = (
        "Load the demonstration catalogue and accounts. Passwords and the API token are written to VAR_DIR."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Loads what is missing, in one transaction, and says where the passwords are."""
        var_dir: Path = settings.CONFIG.var_dir
        var_dir.mkdir(parents=True, exist_ok=True)
        with transaction.atomic(), connection.cursor() as cursor:
            # Hashing passwords takes long on a slow machine.
            cursor.execute("SET LOCAL transaction_timeout = 0")
            load_catalogue()
            accounts = make_accounts(var_dir / "demo-accounts.txt")
            has_new_token = make_token(var_dir / "demo-token")
        self.stdout.write(
            f"demo: {len(POSTERS)} posters; {accounts} of {len(ACCOUNTS)} accounts created,"
            f" see {var_dir}/demo-accounts.txt;"
            f" API token {'created' if has_new_token else 'kept'}, see {var_dir}/demo-token"
        )
