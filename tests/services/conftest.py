"""Fixtures for the tests of several services."""

import pytest

from orders.models import Product


@pytest.fixture
def product() -> None:
    Product.objects.create(sku="nap", title="Nap", artist="A", price=4900)
