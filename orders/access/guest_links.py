"""Signed tokens in the URL of an order's page, with which customers without an account find their order again."""

from uuid import UUID

from django.core import signing

SALT = "orders.storefront.guest_links"


def make_token(order_id: UUID) -> str:
    """Returns the token that lets its bearer see this order. It is valid as long as the secret key is."""
    return _signer().sign(order_id.hex)


def read_token(token: str) -> UUID | None:
    """Returns the id of the order that a token is for; None if the token is not ours."""
    try:
        return UUID(hex=_signer().unsign(token))
    except (signing.BadSignature, ValueError):
        return None


def _signer() -> signing.Signer:
    return signing.Signer(sep=".", salt=SALT)
