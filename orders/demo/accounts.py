"""The demonstration accounts and API token, whose secrets are kept in files that only their owner can read."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from django.contrib.auth.models import Group, Permission, User
from django.utils import timezone

from orders.access import api_tokens
from orders.access.levels import LEVELS, make_groups
from orders.vocabulary import TokenScope

API_USER = "api-demo"


class Account(NamedTuple):
    """A demonstration account. Only accounts with the demonstration's own email address are ever changed.

    A customer signs in with her email address, which is her account's name; operators sign in to the console with
    theirs. `kind` is "customer" or an operator's access level.
    """

    kind: str
    name: str
    is_staff: bool = False
    is_superuser: bool = False

    @property
    def is_operator(self) -> bool:
        """Whether it may use the console."""
        return self.kind in LEVELS

    @property
    def email(self) -> str:
        """The email address by which an account is recognised as the demonstration's."""
        return self.name if "@" in self.name else f"{self.name}@demo.invalid"


ACCOUNTS = (
    Account("customer", "demo@demo.invalid"),
    Account("viewer", "viewer"),
    Account("operator", "operator", is_staff=True),
    Account("admin", "admin", is_staff=True, is_superuser=True),
)


def make_accounts(file: Path) -> int:
    """Makes the missing accounts and writes their passwords to `file`; returns how many it made.

    An account of ours whose password is not in the file (a new `VAR_DIR`) gets a new password. An account of the same
    name that is somebody else's stays as it is.
    """
    passwords = read_passwords(file)
    missing = _accounts_without_password(passwords)
    for account in missing:
        passwords.setdefault(account.name, secrets.token_urlsafe(15))
        user = User.objects.filter(username=account.name).first()
        user = user or User(username=account.name, email=account.email)
        user.is_staff, user.is_superuser = account.is_staff, account.is_superuser
        user.set_password(passwords[account.name])
        user.save()
    _grant_access()
    if missing:
        lines = [
            f"{account.kind}  {account.name}  {passwords[account.name]}"
            for account in ACCOUNTS
            if account.name in passwords
        ]
        write_secret(file, "\n".join(lines) + "\n")
    return len(missing)


def _accounts_without_password(passwords: dict[str, str]) -> Sequence[Account]:
    """The accounts that do not exist, and those of ours whose password is unknown."""
    names = [account.name for account in ACCOUNTS]
    emails = dict(User.objects.filter(username__in=names).values_list("username", "email"))
    return [
        account
        for account in ACCOUNTS
        if account.name not in emails
        or (account.name not in passwords and emails[account.name] == account.email)
    ]


def read_passwords(file: Path) -> dict[str, str]:
    """The passwords in the file, by account name; none when there is no file."""
    lines = file.read_text().splitlines() if file.is_file() else []
    return {words[1]: words[2] for words in map(str.split, lines) if len(words) == 3}


def _grant_access() -> None:
    """Puts each operator into the group of her access level; the operator may also look at raw tables."""
    make_groups()
    groups = {group.name: group for group in Group.objects.filter(name__in=LEVELS)}
    for account in ACCOUNTS:
        if not account.is_operator:
            continue
        for user in User.objects.filter(username=account.name, email=account.email):
            user.groups.add(groups[account.kind])
            if account.kind == "operator":
                raw_tables = {"content_type__app_label": "orders", "codename__startswith": "view_"}
                user.user_permissions.add(*Permission.objects.filter(**raw_tables))


def make_token(file: Path) -> bool:
    """Makes a new API token unless the one in the file works; returns whether it made one."""
    if file.is_file() and _works(file.read_text().strip()):
        return False
    user, is_new = User.objects.get_or_create(
        username=API_USER, defaults={"email": f"{API_USER}@demo.invalid"}
    )
    if is_new:
        user.set_unusable_password()
        user.save()
    _, token = api_tokens.mint(
        user, scopes=[TokenScope.ORDERS, TokenScope.PRIORITY], by=API_USER, label="demo"
    )
    write_secret(file, token + "\n")
    return True


def _works(token: str) -> bool:
    row = api_tokens.find(token)
    return row is not None and row.user.is_active and row.expires_at > timezone.now()


def write_secret(path: Path, text: str) -> None:
    """Writes a file that only its owner can read, either whole or not at all."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600, exist_ok=False)
    draft.write_text(text)
    draft.replace(path)
