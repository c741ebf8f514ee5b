"""Two clients, and receivers on this machine that may be called."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from orders.engine.state_store.feed import begin_epoch
from orders.models import WebhookEndpoint
from tests.support.client_webhooks import URL, make_endpoint
from tests.support.webhook import LOOPBACK, Webhook, webhook


@pytest.fixture
def ada(db: None) -> User:
    begin_epoch()
    return User.objects.create_user("ada", "ada@example.com")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob", "bob@example.com")


@pytest.fixture
def hook(settings: Any) -> Iterator[Webhook]:
    settings.CONFIG = replace(settings.CONFIG, client_webhook_networks=LOOPBACK)
    with webhook() as receiver:
        yield receiver


@pytest.fixture
def endpoint(ada: User) -> WebhookEndpoint:
    return make_endpoint(ada, URL)
