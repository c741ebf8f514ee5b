"""How often `POST orders` goes to the database, so that nobody makes its way longer unnoticed.

Each statement is a way to the server and back, and each transaction that writes waits for the disk.
"""

import re
from collections.abc import Sequence

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from tests.support.order_bodies import order_body
from tests.web.helpers import ORDERS

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = re.compile(r"orders_[a-z]+")

KEYS = pytest.mark.parametrize("key", [None, "k"], ids=["without a key", "with a key"])


def statements_of_a_post(client: APIClient, key: str | None) -> Sequence[str]:
    """What a request that places an order sends to the database. The client has placed another one just before."""
    headers = {"Idempotency-Key": key} if key else {}
    client.post(ORDERS, order_body())
    with CaptureQueriesContext(connection) as queries:
        response = client.post(ORDERS, order_body(), headers=headers)
    assert response.status_code == 202
    assert "Idempotent-Replayed" not in response
    return [query["sql"] for query in queries]


@KEYS
def test_a_post_takes_one_statement_for_each_thing_it_must_know_and_one_to_place_the_order(
    ada: APIClient, key: str | None
) -> None:
    token, limits, products, placing = statements_of_a_post(ada, key)
    assert set(TABLE.findall(token)) == {"orders_apitoken"}
    assert set(TABLE.findall(limits)) == {"orders_bucket"}
    assert set(TABLE.findall(products)) == {"orders_product"}
    assert "orders_submissionmessage" in placing
    assert "pg_notify" in placing


@KEYS
def test_a_post_begins_no_transaction_so_that_it_commits_with_the_statement_that_places_the_order(
    ada: APIClient, key: str | None
) -> None:
    statements = statements_of_a_post(ada, key)
    assert not {"BEGIN", "COMMIT", "SAVEPOINT"} & {statement.split()[0].upper() for statement in statements}
    writing = [statement for statement in statements if "INSERT" in statement or "UPDATE" in statement]
    assert len(writing) == 2  # the limits and the order
