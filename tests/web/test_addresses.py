"""The postal addresses that customers save: added, changed, deleted, and nobody else's."""

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from orders.models import Address
from orders.services import accounts as account_services
from tests.support.order_bodies import LONDON
from tests.support.people import PASSWORD
from tests.web.customers import ada, signed_in
from tests.web.helpers import errors_of

pytestmark = pytest.mark.django_db
__all__ = ["ada", "signed_in"]


def test_an_address_is_added_changed_and_deleted(signed_in: Client, ada: User) -> None:
    assert signed_in.post("/account/addresses/new/", LONDON)["Location"] == "/account/addresses/"
    address = Address.objects.get()
    assert (address.user, address.city, address.is_default) == (ada, "London", True)
    page = signed_in.get("/account/addresses/").content.decode()
    assert "United Kingdom" in page
    signed_in.post(f"/account/addresses/{address.pk}/", LONDON | {"city": "Bath"})
    address.refresh_from_db()
    assert (address.city, address.is_default) == ("Bath", True)
    signed_in.post(f"/account/addresses/{address.pk}/delete/")
    assert not Address.objects.exists()


def test_exactly_one_address_is_always_the_default(signed_in: Client) -> None:
    for city in ("First", "Second", "Third"):
        signed_in.post("/account/addresses/new/", LONDON | {"city": city})
    assert Address.objects.get(is_default=True).city == "First"
    second = Address.objects.get(city="Second")
    signed_in.post(f"/account/addresses/{second.pk}/", LONDON | {"city": "Second", "is_default": "on"})
    assert Address.objects.get(is_default=True) == second
    signed_in.post(f"/account/addresses/{second.pk}/delete/")
    assert Address.objects.get(is_default=True).city == "Third"


def test_the_database_refuses_a_second_default(ada: User) -> None:
    Address.objects.create(user=ada, is_default=True, **LONDON)
    with pytest.raises(IntegrityError, match="one_default_address_per_user"), transaction.atomic():
        Address.objects.create(user=ada, is_default=True, **LONDON)
    with pytest.raises(IntegrityError, match="country_is_two_letters"), transaction.atomic():
        Address.objects.create(user=ada, **LONDON | {"country": "gb"})


WRONG_PARTS = [
    ("name", " "),
    ("street", ""),
    ("city", "a\x85b"),
    ("city", "a" * 201),
    ("country", "XX"),
    ("country", "EU"),
    ("postal_code", "1\x000"),
]


@pytest.mark.parametrize(("part", "wrong"), WRONG_PARTS)
def test_an_incomplete_postal_address_is_refused(signed_in: Client, part: str, wrong: str) -> None:
    assert list(errors_of(signed_in.post("/account/addresses/new/", LONDON | {part: wrong}))) == [part]


def test_a_customer_can_save_only_so_many_addresses(signed_in: Client, ada: User) -> None:
    Address.objects.bulk_create(Address(user=ada, **LONDON) for _ in range(account_services.MOST_ADDRESSES))
    assert "__all__" in errors_of(signed_in.post("/account/addresses/new/", LONDON))


def test_another_customers_address_is_not_found(signed_in: Client) -> None:
    bob = User.objects.create_user("bob@example.com", "bob@example.com", PASSWORD)
    address = Address.objects.create(user=bob, is_default=True, **LONDON)
    for act in (signed_in.get, signed_in.post):
        assert act(f"/account/addresses/{address.pk}/", LONDON).status_code == 404
    assert signed_in.post(f"/account/addresses/{address.pk}/delete/").status_code == 404
    assert Address.objects.filter(pk=address.pk, city="London").exists()
    assert LONDON["street"] not in signed_in.get("/account/addresses/").content.decode()
