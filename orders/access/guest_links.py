"""Signed tokens in the URL of an order's page, with which customers without an account find their order again."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.core import signing

SALT = "orders.shop.storefront.guest_links"
VALID_FOR = timedelta(days=90)
"""How long a token opens its order. After that it only has a new one sent, to the email address of the order."""


def make_token(order_id: UUID, *, signed_at: datetime | None = None) -> str:
    """Returns the token that lets its bearer see this order, until it is too old. It counts from now, unless
    `signed_at` is given."""
    return _signer(signed_at).sign(order_id.hex)


def today() -> datetime:
    """When this day began, for a token of which two that are made on the same day are to be alike."""
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def read_token(token: str) -> UUID | None:
    """Returns the id of the order that a token opens; None if the token is not ours, or is too old."""
    try:
        return UUID(hex=_signer().unsign(token, max_age=VALID_FOR))
    except (signing.BadSignature, ValueError):
        return None


def read_old_token(token: str) -> UUID | None:
    """Returns the id of the order of a token that is ours but opens nothing any more, otherwise None.

    It is too old, or was made before tokens had an age.
    """
    if read_token(token) is not None:
        return None
    for signer in (_signer(), signing.Signer(sep=".", salt=SALT)):
        try:
            return UUID(hex=signer.unsign(token))
        except (signing.BadSignature, ValueError):
            continue
    return None


class _Signer(signing.TimestampSigner):
    """A signer that may sign as if it were another time."""

    signed_at: datetime | None = None

    def timestamp(self) -> str:
        if self.signed_at is None:
            return super().timestamp()
        return signing.b62_encode(int(self.signed_at.timestamp()))


def _signer(signed_at: datetime | None = None) -> signing.TimestampSigner:
    signer = _Signer(sep=".", salt=SALT)
    signer.signed_at = signed_at
    return signer
