"""Loading the whole demonstration: what the businesses have for it, accounts and API token."""

from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction

from orders.business import registry
from orders.demo.accounts import make_accounts, make_token

ACCOUNTS_FILE = "demo-accounts.txt"
TOKEN_FILE = "demo-token"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What was missing and is there now. `businesses` has a few words for each: "24 posters"."""

    businesses: list[str]
    accounts: int
    has_new_token: bool


def load(var_dir: Path) -> Loaded:
    """Loads what is missing, in one transaction, and writes passwords and token to files in `var_dir`."""
    var_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with transaction.atomic(), connection.cursor() as cursor:
        # Hashing passwords takes long on a slow machine.
        cursor.execute("SET LOCAL transaction_timeout = 0")
        return Loaded(
            businesses=[demo.load() for demo in registry.own_modules("demo")],
            accounts=make_accounts(var_dir / ACCOUNTS_FILE),
            has_new_token=make_token(var_dir / TOKEN_FILE),
        )
