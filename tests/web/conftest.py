"""A small catalogue, two customers with tokens, a client without one, and people at the console."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings as project_settings
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders.access.purses import PURSES
from orders.shop.models import Product
from sasweb.limits import DEFAULTS, Limit
from tests.support.mailbox import Mailbox, mailbox
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.console_places import make_places

Signed = Callable[[], APIClient]
Desk = Callable[[str], Client]
Limits = Callable[..., None]


def sign_in(name: str) -> APIClient:
    """An API client with the token of a new account; `client.user` and `client.token` hold both."""
    user = User.objects.create(username=name)
    token = token_of(user)
    client = api_client(token)
    client.user, client.token = user, token
    return client


@pytest.fixture
def catalogue(db: None) -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="Maren Oost", price=3900)
    Product.objects.create(sku="first-sun", title="First Sun", artist="Oriol B.", price=4900)
    Product.objects.create(sku="sold-out", title="Sold Out", artist="N. N.", price=100, is_listed=False)


@pytest.fixture
def ada(catalogue: None) -> APIClient:
    return sign_in("ada")


@pytest.fixture
def bob(catalogue: None) -> APIClient:
    return sign_in("bob")


@pytest.fixture
def anybody(catalogue: None) -> APIClient:
    return APIClient()


@pytest.fixture
def inbox(db: None, settings: Any) -> Iterator[Mailbox]:
    """The mailbox that receives every email."""
    with mailbox(settings) as box:
        yield box


@pytest.fixture
def desk(db: None) -> Desk:
    """Signs in a new person with this access level, and returns her browser."""
    return lambda level: signed_in(person(level, f"{level}-{User.objects.count()}"))


@pytest.fixture
def operator(db: None) -> APIClient:
    """A client of the API with a token of the operator Olga, which may do all that she may."""
    return api_client(token_of(person("operator", "olga")))


@pytest.fixture
def places(db: None) -> dict[str, str]:
    """Every URL of the console except the sign-in page, by name, with the rows they are about."""
    return make_places()


@pytest.fixture(autouse=True)
def no_tokens_of_another_test() -> None:
    PURSES.forget()


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Limits:
    """Leaves only these limits, of so many in an hour."""

    def leave(**most: int) -> None:
        figures = {
            name.replace("__", "."): Limit(most=number, seconds=3_600) for name, number in most.items()
        }
        assert figures.keys() <= DEFAULTS.keys()
        monkeypatch.setattr(project_settings, "CONFIG", replace(project_settings.CONFIG, limits=figures))

    return leave
