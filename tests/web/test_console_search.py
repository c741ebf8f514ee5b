"""The console's search finds what has not become an order: submissions, and requests that were refused."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from uuid_utils.compat import uuid7

from orders.models import LoggedRequest, SetAside
from tests.support.factories import ago
from tests.web.conftest import Desk

pytestmark = pytest.mark.django_db


def search(desk: Desk, words: str) -> Any:
    return desk("viewer").get("/console/orders/", {"q": words})


@pytest.mark.parametrize("digits", [36, -8, -12])
def test_a_submission_that_was_set_aside_is_found_by_its_id_and_by_the_end_of_it(
    desk: Desk, digits: int
) -> None:
    order_id = str(uuid7())
    SetAside.objects.create(order_id=order_id, client="guest", body={}, reason="no", posted_at=ago(60))
    words = order_id[:digits] if digits > 0 else order_id[digits:]
    assert search(desk, words)["Location"] == f"/console/orders/{order_id}/"


def test_a_request_that_was_refused_is_found_by_its_id(desk: Desk) -> None:
    grace = User.objects.create_user("grace")
    LoggedRequest.objects.create(
        **{"request_id": "4f1c0a52f7a94c0c", "customer_id": grace.pk, "method": "POST", "order_ids": []},
        **{"path": "/api/v1/orders", "status": 422, "code": "invalid_order", "token": "sas_QCG4Ps9x"},
        **{"at": ago(300), "milliseconds": 12},
    )
    words = " ".join(re.sub(r"<[^>]+>", " ", search(desk, "4f1c0a52f7a94c0c").content.decode()).split())
    assert "these requests of the API have this ID" in words
    assert "422 invalid_order" in words
    assert "No order matches. Change" in " ".join(
        re.sub(r"<[^>]+>", " ", search(desk, "4f1c0a52f7a94c0d").content.decode()).split()
    )
