"""Signs the calls of webhooks after Standard Webhooks (https://www.standardwebhooks.com), version 1.

A receiver that has a secret can tell that a call is ours and recent, and that nobody has changed it.
"""

import hmac
import secrets
from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from collections.abc import Mapping, Sequence
from hashlib import sha256

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64
"""Bytes of a secret, as the standard has them."""
NEW = 32
"""Bytes of a secret that we make."""


def make_secret() -> bytes:
    """A new secret."""
    return secrets.token_bytes(NEW)


def write_secret(secret: bytes) -> str:
    """A secret in the form in which people pass it on."""
    return PREFIX + b64encode(secret).decode()


def read_secret(text: str) -> bytes:
    """The secret in its text. Raises `ValueError`."""
    try:
        secret = b64decode(text.removeprefix(PREFIX), validate=True)
    except NotBase64Error as error:
        raise ValueError("not base64") from error
    if not text.startswith(PREFIX) or not SHORTEST <= len(secret) <= LONGEST:
        raise ValueError("not a secret")
    return secret


def signed_headers(
    message_id: str, *, body: bytes, timestamp: int, signing_secrets: Sequence[bytes]
) -> Mapping[str, str]:
    """The headers of a call at this time, in seconds since 1970. While two secrets are valid there is a signature by
    each; without a secret there is none."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    signatures = [
        "v1," + b64encode(hmac.digest(secret, signed, sha256)).decode() for secret in signing_secrets
    ]
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp)}
    return {**headers, "webhook-signature": " ".join(signatures)} if signatures else headers
