"""The mail server of the tests that tell customers of their orders."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from orders.models import OrderUpdateReader
from tests.support.mailbox import Mailbox, mailbox


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    OrderUpdateReader.objects.create(position=0, event_id=0, looked_for_late_at=timezone.now())
    with mailbox(settings) as server:
        yield server
