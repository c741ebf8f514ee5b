"""Tokens of the REST API: 256 random bits behind a prefix that scanners for leaked secrets can recognise.

A token is shown once; only its hash is stored. A fast hash is enough, because nobody can guess 256 bits. Its scopes
limit it, it expires, and it ends with the password of its account.
"""

import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from orders.access import api_versions
from orders.engine.runtime.sql import fetch_frequent
from orders.models import ApiToken
from orders.models.access import USABLE_AT_ONCE
from orders.vocabulary import TokenScope

PREFIX = "sas_"
BEGINNING = 10
"""How many characters of a token are stored to recognise it by; they leave more than 200 bits unknown."""
DAYS = 90
MOST_DAYS = 366
"""A token lasts `DAYS`, or up to `MOST_DAYS` if asked."""
LONGEST_LABEL = 60
USE_NOTED_EVERY = timedelta(minutes=1)

_TOKEN = re.compile(r"sas_[A-Za-z0-9_-]{43}")


def mint(
    user: User,
    *,
    scopes: Collection[TokenScope],
    by: str,
    label: str = "",
    days: int = DAYS,
    version: str = "",
) -> tuple[ApiToken, str]:
    """Makes a token and returns its row and the token itself. It may always read. It is pinned to that version of the
    API, or to the newest."""
    if not 1 <= days <= MOST_DAYS:
        raise ValueError(f"a token lasts 1 to {MOST_DAYS} days")
    secret = PREFIX + secrets.token_urlsafe(32)
    granted = {TokenScope.READ, *scopes}
    row = ApiToken.objects.create(
        user=user,
        label=label,
        beginning=secret[:BEGINNING],
        digest=_digest(secret),
        scopes=[scope.value for scope in TokenScope if scope in granted],
        created_by=by,
        version=version or api_versions.newest().name,
        expires_at=timezone.now() + timedelta(days=days),
    )
    return row, secret


def find(secret: str) -> ApiToken | None:
    """The row of a token, with its account. It may have expired. One query."""
    digest = digest_of(secret)
    return None if digest is None else find_again(digest)


def digest_of(secret: str) -> str | None:
    """The hash by which a token is found; None if it cannot be one."""
    return _digest(secret) if _TOKEN.fullmatch(secret) else None


def find_again(digest: str) -> ApiToken | None:
    """The row of the token with this hash, as `find` does."""
    rows = fetch_frequent(_lookup(), [digest])
    if not rows:
        return None
    columns = len(_columns_of(ApiToken))
    token = ApiToken.from_db(DEFAULT_DB_ALIAS, _columns_of(ApiToken), rows[0][:columns])
    token.user = User.from_db(DEFAULT_DB_ALIAS, _columns_of(User), rows[0][columns:])
    return token


class Holder(NamedTuple):
    """A token that may be used, without what only matters for one that may not, and whose it is."""

    token_id: int
    account_id: int
    beginning: str
    scopes: tuple[str, ...]
    api_version: str


def usable_at_once(*, now: datetime) -> Mapping[str, object]:
    """The parameters of `USABLE_AT_ONCE`, by each version of the API that has not ended."""
    names = [version.name for version in api_versions.supported(now)]
    return {"now": now, "noted_since": now - USE_NOTED_EVERY, "api_versions": names}


def holders(digests: Collection[str], *, now: datetime) -> Mapping[str, Holder]:
    """The tokens with these hashes that may be used. Left out is one whose use is to be noted. One statement."""
    rows = fetch_frequent(
        f"""
        SELECT token.digest, token.id, account.id, token.beginning, token.scopes, token.version
          FROM orders_apitoken AS token
          JOIN auth_user AS account ON account.id = token.user_id
         WHERE token.digest = ANY (%(digests)s::text[]) AND {USABLE_AT_ONCE}
        """,
        {"digests": list(digests), **usable_at_once(now=now)},
    )
    return {
        digest: Holder(token_id, account_id, beginning, tuple(scopes), version)
        for digest, token_id, account_id, beginning, scopes, version in rows
    }


def note_use(token: ApiToken, *, now: datetime) -> None:
    """Records that a token was used, at most once a minute; whoever comes second changes nothing."""
    long_ago = now - USE_NOTED_EVERY
    if token.last_used_at is None or token.last_used_at <= long_ago:
        unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lte=long_ago)
        ApiToken.objects.filter(unnoted, pk=token.pk).update(last_used_at=now)


def rotate(token: ApiToken, *, by: str, until: datetime) -> tuple[ApiToken, str]:
    """Makes a token that may do the same, for as long, by the same version, and ends the other one at that time if it
    does not end before. Returns the new one as `mint` does. The caller has locked the row of the other one."""
    successor, secret = mint(
        token.user,
        scopes=[TokenScope(scope) for scope in token.scopes],
        by=by,
        label=token.label,
        days=min(max(round((token.expires_at - token.created_at) / timedelta(days=1)), 1), MOST_DAYS),
        version=token.version,
    )
    ends = min(token.expires_at, until)
    ApiToken.objects.filter(pk=token.pk).update(expires_at=ends, replaced_by=successor.beginning)
    return successor, secret


def pin(token: ApiToken, version: str) -> None:
    """Has another version of the API answer a token's requests."""
    ApiToken.objects.filter(pk=token.pk).update(version=version)


def revoke_all(user: Any) -> int:
    """Revokes every token of an account. Returns how many there were."""
    return ApiToken.objects.filter(user_id=user.pk).delete()[0]


def revoke_granted_by_factor(user: Any) -> int:
    """Revokes the tokens of an account that its second factor has granted. Returns how many there were."""
    granted = ApiToken.objects.filter(user_id=user.pk, scopes__contains=[TokenScope.COMPENSATE])
    return granted.delete()[0]


class RevokesTokensValidator:
    """Revokes an account's tokens when its password changes, wherever that happens.

    Django tells the password validators of each new password that is saved, but not of an old one that is hashed again
    at a sign-in. This one accepts every password.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Accepts the password."""

    def password_changed(self, password: str, user: Any = None) -> None:
        """Revokes the tokens. Called by Django after the new password has been saved."""
        if user is not None:
            revoke_all(user)

    def get_help_text(self) -> str:
        """What the admin site says beside the password."""
        return _("When the password changes, the account's API tokens are revoked.")


@cache
def _lookup() -> str:
    """The statement that finds a token with its account. Every request of the API runs it, and Django would take longer
    to write it each time than the server takes to answer."""
    columns = [f"token.{name}" for name in _columns_of(ApiToken)]
    columns += [f"account.{name}" for name in _columns_of(User)]
    return f"""
        SELECT {", ".join(columns)}
          FROM orders_apitoken AS token
          JOIN auth_user AS account ON account.id = token.user_id
         WHERE token.digest = %s::text
    """


@cache
def _columns_of(model: type[Model]) -> Sequence[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
