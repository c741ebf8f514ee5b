"""The tokens with which remote services answer later: `POST /callbacks/{token}`.

A token is the idempotency key of the call, signed. So it needs no row, and it says which order, step, generation and
direction it answers. It is used up when that call is answered, whoever answers it.
"""

from django.core import signing

from orders.engine.rows import EffectKey, read_key

_SALT = "sasweb.callbacks"
LONGEST_TOKEN = 600
"""Characters; a key has 200 at most."""


def issue_token(key: str) -> str:
    """The token that answers the call with this idempotency key. It has only characters that a URL's path may have."""
    return signing.Signer(salt=_SALT).sign_object(key)


def read_token(token: str) -> tuple[str, EffectKey] | None:
    """The idempotency key that a token is for, and what it says; None if the token is none of ours."""
    if len(token) > LONGEST_TOKEN:
        return None
    try:
        key = signing.Signer(salt=_SALT).unsign_object(token)
    except (signing.BadSignature, ValueError):
        return None
    effect = read_key(key) if isinstance(key, str) else None
    return None if effect is None else (key, effect)
