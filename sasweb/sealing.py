"""Encrypts the few secrets that must be stored and read again, so that a dump of the database gives none of them away.

AES-256-GCM with a key derived from `SECRET_KEY`. What an earlier key has sealed can be opened as long as that key is in
`SECRET_KEY_FALLBACKS`.
"""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64Error

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.utils.crypto import salted_hmac

SALT = "sasweb.sealing"
MARK = "sealed:"
NONCE = 12
"""Bytes that are drawn anew for each seal."""


class BrokenSealError(Exception):
    """Raised when a text was sealed with a key that is no longer there, or was changed."""


def seal(secret: bytes, *, purpose: str) -> str:
    """Encrypts a secret. It can be opened only for the same purpose."""
    nonce = os.urandom(NONCE)
    sealed = AESGCM(_key(settings.SECRET_KEY)).encrypt(nonce, secret, purpose.encode())
    return MARK + urlsafe_b64encode(nonce + sealed).decode()


def unseal(text: str, *, purpose: str) -> bytes:
    """The secret that was sealed. Raises `BrokenSealError`."""
    try:
        sealed = urlsafe_b64decode(text.removeprefix(MARK))
    except NotBase64Error as error:
        raise BrokenSealError("this is no sealed secret") from error
    for secret_key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return AESGCM(_key(secret_key)).decrypt(sealed[:NONCE], sealed[NONCE:], purpose.encode())
        except (InvalidTag, ValueError):
            continue
    raise BrokenSealError("it was sealed with a SECRET_KEY that is not in SECRET_KEY_FALLBACKS")


def _key(secret_key: str) -> bytes:
    return salted_hmac(SALT, "key", secret=secret_key, algorithm="sha256").digest()
