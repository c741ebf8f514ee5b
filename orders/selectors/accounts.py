"""A customer's addresses. Every function takes the customer, and reads nothing that belongs to anybody else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from orders.fields.postal_address import PARTS
from orders.models import Address


@dataclass(frozen=True, kw_only=True)
class AddressView:
    """An address in a customer's address book."""

    id: UUID
    is_default: bool
    parts: Mapping[str, str]
    """Those of `orders.fields.postal_address` that it has."""


def addresses(user_id: int) -> Sequence[AddressView]:
    """A customer's addresses, the default first."""
    return [_view(row) for row in Address.objects.filter(user_id=user_id).order_by("-is_default", "-id")]


def address(*, user_id: int, address_id: UUID) -> AddressView | None:
    """One of this customer's addresses; None if there is none with this id."""
    row = Address.objects.filter(pk=address_id, user_id=user_id).first()
    return _view(row) if row else None


def _view(row: Address) -> AddressView:
    return AddressView(
        id=row.pk,
        is_default=row.is_default,
        parts={part: text for part in PARTS if (text := getattr(row, part))},
    )
