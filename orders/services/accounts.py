"""What customers may ask for about their accounts and addresses. Each act is one transaction.

Asking for an email takes the same time and gets the same answer whether or not there is an account: that is looked up
when the email is composed (`orders.mail.accounts`).
"""

from dataclasses import asdict, dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from orders.engine.errors import SaswebError
from orders.fields.email import normalise
from orders.mail import outbox
from orders.models import Address
from orders.vocabulary import MessageKind

MOST_ADDRESSES = 20


class TooManyAddressesError(SaswebError):
    """Raised when a customer has as many addresses as anybody may keep."""


@dataclass(frozen=True, kw_only=True)
class NewAddress:
    """An address as its customer writes it."""

    name: str
    street: str
    city: str
    postal_code: str
    country: str
    is_default: bool = False


def ask_to_sign_up(*, email: str, site: str, following: str, language: str) -> None:
    """Has an email sent that leads to a new account, or to the account that this email address has already.

    `site` is the scheme and host of its links, `following` the page to continue to.
    """
    outbox.post(
        kind=MessageKind.SIGN_UP,
        recipient=normalise(email),
        arguments={"site": site, "following": following, "language": language},
    )


def ask_for_new_password(*, email: str, site: str, language: str) -> None:
    """Has an email sent with a link to set a new password, if there is such an account."""
    outbox.post(
        kind=MessageKind.NEW_PASSWORD,
        recipient=normalise(email),
        arguments={"site": site, "language": language},
    )


def create_account(*, email: str, password: str) -> User | None:
    """Makes an account for an address that has been proved to be its owner's; None if it has one already."""
    name = normalise(email)
    try:
        with transaction.atomic():
            return User.objects.create_user(username=name, email=name, password=password)
    except IntegrityError:
        return None


def save_address(*, user_id: int, address: NewAddress, address_id: UUID | None = None) -> bool:
    """Adds or changes an address; the first is the default. False if this customer has none of this id.

    Raises `TooManyAddressesError`.
    """
    with transaction.atomic():
        kept = _locked(user_id)
        others = [one for one in kept if one.pk != address_id]
        if address_id is not None and len(others) == len(kept):
            return False
        if address_id is None and len(kept) >= MOST_ADDRESSES:
            raise TooManyAddressesError
        fields = asdict(address)
        was_default = any(one.is_default for one in kept if one.pk == address_id)
        fields["is_default"] = address.is_default or was_default or not others
        if fields["is_default"]:
            former = [one.pk for one in others if one.is_default]
            Address.objects.filter(user_id=user_id, pk__in=former).update(is_default=False)
        if address_id is None:
            Address.objects.create(user_id=user_id, **fields)
        else:
            Address.objects.filter(pk=address_id, user_id=user_id).update(**fields)
    return True


def delete_address(*, user_id: int, address_id: UUID) -> bool:
    """Deletes an address; of those left the newest takes its place as the default. False if there is none."""
    with transaction.atomic():
        kept = _locked(user_id)
        gone = next((one for one in kept if one.pk == address_id), None)
        if gone is None:
            return False
        left = sorted((one for one in kept if one is not gone), key=lambda one: one.pk)
        gone.delete()
        if gone.is_default and left:
            Address.objects.filter(pk=left[-1].pk).update(is_default=True)
    return True


def _locked(user_id: int) -> list[Address]:
    """A customer's addresses. Her row is locked first: two acts of hers at once would make two defaults, or none."""
    User.objects.select_for_update().get(pk=user_id)
    return list(Address.objects.filter(user_id=user_id))
