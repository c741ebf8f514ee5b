"""Fixtures for the tests of several services."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orders.shop.models import Product
from tests.support.clock import Clock
from tests.support.webhook import LOOPBACK, Webhook, webhook


@pytest.fixture
def product() -> None:
    Product.objects.create(sku="nap", title="Nap", artist="A", price=4900)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hook(settings: Any, tmp_path: Path) -> Iterator[Webhook]:
    with webhook() as receiver:
        settings.CONFIG = replace(
            settings.CONFIG, alert_webhook_url=receiver.url, webhook_networks=LOOPBACK, var_dir=tmp_path
        )
        yield receiver
