"""`manage.py load_demo`: the demonstration catalogue, accounts and API token, made once and left alone after that."""

import os
import secrets
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.core.management.base import BaseCommand
from django.db import connection, transaction
from knox.auth import TokenAuthentication
from knox.models import get_token_model
from rest_framework.exceptions import AuthenticationFailed

from orders.access.levels import LEVELS, make_groups
from orders.demo.catalogue import CATALOGUE, CURRENCY, OFFERS, SHOWN, Offer, Poster
from orders.models import Product

API_USER = "api-demo"

OPENED = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""When the first poster came into the demonstration catalogue; the others followed day by day."""


class Account(NamedTuple):
    """A demonstration account. Only those with our own mail address are ever changed.

    A customer signs in by mail address, which is her account's name; the others sign in to the console by theirs.
    """

    role: str
    name: str
    is_staff: bool = False
    is_superuser: bool = False

    @property
    def works_here(self) -> bool:
        return self.role in LEVELS

    @property
    def email(self) -> str:
        return self.name if "@" in self.name else f"{self.name}@demo.invalid"


ACCOUNTS = (
    Account("customer", "demo@demo.invalid"),
    Account("viewer", "viewer"),
    Account("operator", "operator", is_staff=True),
    Account("admin", "admin", is_staff=True, is_superuser=True),
)


class Command(BaseCommand):
    help = "Load the demonstration catalogue and accounts; passwords and the API token are kept in VAR_DIR."

    def handle(self, *args: Any, **options: Any) -> None:
        """Loads what is missing, in one transaction, and says where the passwords are."""
        var_dir: Path = settings.CONFIG.var_dir
        var_dir.mkdir(parents=True, exist_ok=True)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SET LOCAL transaction_timeout = 0"
            )  # hashing passwords takes long on a slow machine
            load_catalogue()
            made = make_accounts(var_dir / "demo-accounts.txt")
            renewed = make_token(var_dir / "demo-token")
        self.stdout.write(
            f"demo: {len(CATALOGUE)} posters; {made} of {len(ACCOUNTS)} accounts made, in {var_dir}/demo-accounts.txt;"
            f" API token {'made' if renewed else 'kept'}, in {var_dir}/demo-token"
        )


def load_catalogue() -> None:
    """Inserts the posters in all sizes and editions, or brings them up to date. What is listed is left as it is."""
    families = list(dict.fromkeys(poster.family for poster in CATALOGUE))
    seen: Counter[str] = Counter()
    posters, variants = [], []
    for number, poster in enumerate(CATALOGUE):
        shown = _offered(poster, SHOWN)
        shown.description, shown.design = poster.description, poster.design()
        shown.added_at = OPENED + timedelta(days=number)
        shown.rank = seen[poster.family] * len(families) + families.index(poster.family)
        seen[poster.family] += 1
        posters.append(shown)
        variants += [_offered(poster, offer) for offer in OFFERS if offer != SHOWN]
    kept = [
        "title",
        "artist",
        "price",
        "currency",
        "size",
        "edition",
        "description",
        "design",
        "variant_of",
        "rank",
    ]
    for products in (posters, variants):
        Product.objects.bulk_create(
            products, update_conflicts=True, unique_fields=["sku"], update_fields=kept
        )


def _offered(poster: Poster, offer: Offer) -> Product:
    name = poster.title
    if offer != SHOWN:
        name += f", {offer.size.replace('x', ' × ')} cm" + (", signed" if offer.edition == "signed" else "")
    return Product(
        sku=offer.sku(poster.sku),
        title=name,
        artist=poster.artist,
        price=offer.price(poster.price),
        currency=CURRENCY,
        variant_of_id=None if offer == SHOWN else poster.sku,
        size=offer.size,
        edition=offer.edition,
    )


def make_accounts(kept: Path) -> int:
    """Makes the accounts that are missing and writes their passwords to the file `kept`; answers how many it made.

    An account of ours whose password is not in the file (a new `VAR_DIR`) gets a new one. Somebody else's account of
    the same name stays as it is.
    """
    passwords = read_passwords(kept)
    users = {user.username: user for user in User.objects.filter(username__in=[who.name for who in ACCOUNTS])}
    missing = [
        who
        for who in ACCOUNTS
        if who.name not in users or (who.name not in passwords and users[who.name].email == who.email)
    ]
    for who in missing:
        passwords.setdefault(who.name, secrets.token_urlsafe(15))
        user = users.get(who.name) or User(username=who.name, email=who.email)
        user.is_staff, user.is_superuser = who.is_staff, who.is_superuser
        user.set_password(passwords[who.name])
        user.save()
    _give_roles()
    if missing:
        lines = (
            f"{who.role}  {who.name}  {passwords[who.name]}" for who in ACCOUNTS if who.name in passwords
        )
        write_secret(kept, "\n".join(lines) + "\n")
    return len(missing)


def read_passwords(kept: Path) -> dict[str, str]:
    """The passwords in the file, by the accounts' names; none when there is no file."""
    lines = kept.read_text().splitlines() if kept.is_file() else []
    return {words[1]: words[2] for words in map(str.split, lines) if len(words) == 3}


def make_token(kept: Path) -> bool:
    """Sees to it that the file holds a token that authenticates. Answers whether it had to be made."""
    if kept.is_file() and _authenticates(kept.read_text().strip()):
        return False
    user, is_new = User.objects.get_or_create(
        username=API_USER, defaults={"email": f"{API_USER}@demo.invalid"}
    )
    if is_new:
        user.set_unusable_password()
        user.save()
    _, token = get_token_model().objects.create(user, expiry=None)
    write_secret(kept, token + "\n")
    return True


def write_secret(path: Path, text: str) -> None:
    """Writes a file that only its owner can read, whole or not at all."""
    made = path.with_name(f".{path.name}-{os.getpid()}")
    made.unlink(missing_ok=True)
    made.touch(mode=0o600, exist_ok=False)
    made.write_text(text)
    made.replace(path)


def _authenticates(token: str) -> bool:
    try:
        TokenAuthentication().authenticate_credentials(token.encode())
    except AuthenticationFailed:
        return False
    return True


def _give_roles() -> None:
    """Puts each account into the group of its role; the operator may also look at raw tables."""
    make_groups()
    groups = {group.name: group for group in Group.objects.filter(name__in=LEVELS)}
    for who in ACCOUNTS:
        for user in User.objects.filter(username=who.name, email=who.email) if who.works_here else ():
            user.groups.add(groups[who.role])
            if who.role == "operator":
                looking = {"content_type__app_label": "orders", "codename__startswith": "view_"}
                user.user_permissions.add(*Permission.objects.filter(**looking))
