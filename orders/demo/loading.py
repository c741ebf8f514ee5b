"""Loading the whole demonstration: catalogue, accounts and API token."""

from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction

from orders.demo.accounts import make_accounts, make_token
from orders.demo.catalogue import load_catalogue

ACCOUNTS_FILE = "demo-accounts.txt"
TOKEN_FILE = "demo-token"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What was missing and is there now."""

    accounts: int
    has_new_token: bool


def load(var_dir: Path) -> Loaded:
    """Loads what is missing, in one transaction, and writes passwords and token to files in `var_dir`."""
    var_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with transaction.atomic(), connection.cursor() as cursor:
        # Hashing passwords takes long on a slow machine.
        cursor.execute("SET LOCAL transaction_timeout = 0")
        load_catalogue()
        return Loaded(
            accounts=make_accounts(var_dir / ACCOUNTS_FILE), has_new_token=make_token(var_dir / TOKEN_FILE)
        )
