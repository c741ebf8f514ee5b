"""Creating, rotating, pinning and revoking API tokens, with an entry in the audit log for each. The caller has checked
who may do so."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from orders.access import api_tokens, api_versions
from orders.access.levels import OPERATE
from orders.models import ApiToken
from orders.services import audit
from orders.services.audit import Actor
from orders.vocabulary import TokenScope

OF_OPERATORS = (TokenScope.OPERATE.value, TokenScope.COMPENSATE.value)
OVERLAP = timedelta(hours=24)
"""How long a token and the one that replaces it are both valid, unless somebody says otherwise."""


def beyond_account(user: User, scopes: Collection[str]) -> list[str]:
    """Which of these scopes do not let a token act, because its account may not operate the console."""
    return [] if user.has_perm(OPERATE) else [scope for scope in OF_OPERATORS if scope in scopes]


def create(
    *, user: User, scopes: Collection[TokenScope], label: str = "", days: int = api_tokens.DAYS, actor: Actor
) -> tuple[ApiToken, str]:
    """Creates a token for an account. Returns its row, and the token itself, which cannot be read again.

    Raises `ValueError` if it would last longer than a token may.
    """
    with transaction.atomic():
        token, secret = api_tokens.mint(user, scopes=scopes, by=actor.name, label=label, days=days)
        result = f"created an API token for {', '.join(token.scopes)} until {token.expires_at:%Y-%m-%d}"
        _record("token create", user, actor, result, after={"token": str(token), "scopes": token.scopes})
    return token, secret


def rotate(*, token: ApiToken, overlap: timedelta = OVERLAP, actor: Actor) -> tuple[ApiToken, str]:
    """Replaces a token with a new one that may do the same. Both are valid for the `overlap`, then only the new one.

    Returns the new one as `create` does. Raises `ValueError` if the token has ended or is being replaced already.
    """
    with transaction.atomic():
        row = (
            ApiToken.objects.select_for_update(of=("self",))
            .select_related("user")
            .filter(pk=token.pk)
            .first()
        )
        now = timezone.now()
        if row is None or row.expires_at <= now:
            raise ValueError(f"the token {token} has ended; create a new one")
        if row.replaced_by:
            # Its life has been shortened, so a second successor could not be given the life that it had.
            raise ValueError(
                f"the token {token} is being replaced by {row.replaced_by}… already;"
                " if you do not have that one, create a new one"
            )
        successor, secret = api_tokens.rotate(row, by=actor.name, until=now + overlap)
        ends = min(row.expires_at, now + overlap)
        result = f"replaced an API token, which ends at {ends:%Y-%m-%d %H:%M}"
        before, after = ({"token": str(each), "scopes": each.scopes} for each in (row, successor))
        _record("token rotate", row.user, actor, result, before=before, after=after)
    return successor, secret


def pin(*, token: ApiToken, version: str, actor: Actor) -> None:
    """Pins a token to a version of the API. Raises `ValueError` if that one does not exist or has ended."""
    names = [each.name for each in api_versions.supported(timezone.now())]
    if version not in names:
        raise ValueError(f"the versions of the API are {', '.join(names)}")
    with transaction.atomic():
        api_tokens.pin(token, version)
        before, after = ({"token": str(token), "version": each} for each in (token.version, version))
        _record(
            "token pin", token.user, actor, f"pinned an API token to {version}", before=before, after=after
        )


def revoke(*, token: ApiToken, actor: Actor) -> bool:
    """Revokes a token. Returns whether it was still there."""
    with transaction.atomic():
        deleted, _ = ApiToken.objects.filter(pk=token.pk).delete()
        if deleted:
            before = {"token": str(token), "scopes": token.scopes}
            _record("token revoke", token.user, actor, "revoked an API token", before=before)
    return deleted > 0


def revoke_all(*, user: User, actor: Actor) -> int:
    """Revokes every token of an account. Returns how many there were."""
    with transaction.atomic():
        revoked = api_tokens.revoke_all(user)
        _record("token revoke", user, actor, "revoked every API token", before={"tokens": revoked})
    return revoked


def _record(
    act: str,
    user: User,
    actor: Actor,
    result: str,
    *,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    audit.record(actor=actor, act=act, target=user.username, result=result, before=before, after=after)
