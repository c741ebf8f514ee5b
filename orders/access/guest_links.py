"""The signed token by which somebody without an account finds an order again, in the address of its page."""

from uuid import UUID

from django.core import signing

SALT = "orders.storefront.guest_links"


def make_token(order_id: UUID) -> str:
    """What lets its bearer see this order. It holds for as long as the secret key does."""
    return _signer().sign(order_id.hex)


def read_token(token: str) -> UUID | None:
    """The order that a token is for; None if it is not one of ours."""
    try:
        return UUID(hex=_signer().unsign(token))
    except (signing.BadSignature, ValueError):
        return None


def _signer() -> signing.Signer:
    return signing.Signer(sep=".", salt=SALT)
