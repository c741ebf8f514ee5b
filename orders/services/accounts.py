"""What customers may do with their accounts and postal addresses. Each act is one transaction.

Asking for an email takes the same time and gets the same answer whether or not there is an account: the account is
looked up when the email is composed (`orders.outbox.account_emails`).
"""

from dataclasses import asdict, dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Lower

from orders.engine.errors import SaswebError
from orders.fields.email import normalise
from orders.models import Address, ArchivedOrder, Order
from orders.outbox import queue
from orders.vocabulary import MessageKind

MOST_ADDRESSES = 20
"""The most addresses that a customer may save."""


class TooManyAddressesError(SaswebError):
    """Raised when a customer already has `MOST_ADDRESSES` addresses."""


@dataclass(frozen=True, kw_only=True)
class NewAddress:
    """A postal address as the customer entered it. A part that it does not have is empty."""

    name: str
    street: str
    line2: str = ""
    city: str
    state: str = ""
    postal_code: str
    country: str
    phone: str = ""
    is_default: bool = False


def ask_to_sign_up(*, email: str, following: str, language: str, attempt: str = "") -> None:
    """Requests an email that leads to a new account, or to the account that this email already belongs to.

    `following` is the page to continue to. Of two requests with the same `attempt` only the first counts.
    """
    queue.post(
        key=queue.key_of_attempt(MessageKind.SIGN_UP, attempt),
        kind=MessageKind.SIGN_UP,
        recipient=normalise(email),
        arguments={"following": following, "language": language},
    )


def ask_for_new_password(*, email: str, language: str, attempt: str = "") -> None:
    """Requests an email with a link to set a new password. It is sent only if the account exists. Of two requests with
    the same `attempt` only the first counts."""
    queue.post(
        key=queue.key_of_attempt(MessageKind.NEW_PASSWORD, attempt),
        kind=MessageKind.NEW_PASSWORD,
        recipient=normalise(email),
        arguments={"language": language},
    )


@dataclass(frozen=True, kw_only=True)
class NewAccount:
    """An account that has just been created, and how many orders its owner had placed before without one."""

    user: User
    earlier_orders: int


def create_account(*, email: str, password: str) -> NewAccount | None:
    """Creates an account for an email whose owner has been verified. Returns None if there already is one.

    What she has ordered with this email without an account becomes hers, archived or not. An order that is not inserted
    yet stays a guest's: its link still leads to it.
    """
    name = normalise(email)
    user = User(username=name, email=name)
    user.set_password(password)  # takes long, so it comes before the transaction
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            return NewAccount(user=user, earlier_orders=_take_over(user))
    except IntegrityError:
        return None


def _take_over(user: User) -> int:
    """Makes the orders of guests with this account's email the account's. Returns how many there were."""
    return sum(
        model.objects.alias(address=Lower("email"))
        .filter(address=user.email, customer=None)
        .update(customer=user)
        for model in (Order, ArchivedOrder)
    )


def save_address(*, user_id: int, address: NewAddress, address_id: UUID | None = None) -> bool:
    """Adds or changes an address. The first becomes the default. Returns False if this customer has no such address.

    Raises `TooManyAddressesError`.
    """
    with transaction.atomic():
        addresses = _lock_addresses(user_id)
        others = [other for other in addresses if other.pk != address_id]
        if address_id is not None and len(others) == len(addresses):
            return False
        if address_id is None and len(addresses) >= MOST_ADDRESSES:
            raise TooManyAddressesError
        fields = asdict(address)
        was_default = any(candidate.is_default for candidate in addresses if candidate.pk == address_id)
        fields["is_default"] = address.is_default or was_default or not others
        if fields["is_default"]:
            former = [other.pk for other in others if other.is_default]
            Address.objects.filter(user_id=user_id, pk__in=former).update(is_default=False)
        if address_id is None:
            Address.objects.create(user_id=user_id, **fields)
        else:
            Address.objects.filter(pk=address_id, user_id=user_id).update(**fields)
    return True


def delete_address(*, user_id: int, address_id: UUID) -> bool:
    """Deletes an address. The newest address left replaces a default. Returns False if there is no such address."""
    with transaction.atomic():
        addresses = _lock_addresses(user_id)
        address = next((candidate for candidate in addresses if candidate.pk == address_id), None)
        if address is None:
            return False
        remaining = sorted((other for other in addresses if other is not address), key=lambda other: other.pk)
        address.delete()
        if address.is_default and remaining:
            Address.objects.filter(pk=remaining[-1].pk).update(is_default=True)
    return True


def _lock_addresses(user_id: int) -> list[Address]:
    """Returns a customer's addresses. Locks her row first, or two acts at once could leave two defaults, or none."""
    User.objects.select_for_update().get(pk=user_id)
    return list(Address.objects.filter(user_id=user_id))
