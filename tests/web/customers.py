"""Fixtures: a customer with an account, and her browser."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD


@pytest.fixture
def ada() -> User:
    """A customer with an account."""
    return User.objects.create_user(EMAIL, EMAIL, PASSWORD)


@pytest.fixture
def signed_in(client: Client, ada: User) -> Client:
    """Ada's browser."""
    client.force_login(ada)
    return client
