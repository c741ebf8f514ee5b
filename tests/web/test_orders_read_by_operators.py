"""An operator's token reads the orders that it may act on. To any other, they do not exist."""

from collections.abc import Callable, Sequence
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.engine.channels import submissions
from orders.models import SetAside
from orders.selectors.orders import client_of
from orders.vocabulary import TokenScope
from tests.support.finished_orders import archive, finished_order
from tests.support.people import api_client, person, token_of
from tests.web.helpers import ORDERS, assert_problem, place, run_submission

pytestmark = pytest.mark.django_db

OPERATE, READ = [TokenScope.READ, TokenScope.OPERATE], [TokenScope.READ, TokenScope.ORDERS]
READS = ("", "/events", "/progress")


def placed(ada: APIClient) -> str:
    return str(place(ada)["id"])


def inserted(ada: APIClient) -> str:
    order_id = placed(ada)
    run_submission()
    return order_id


def set_aside(ada: APIClient) -> str:
    order_id = uuid7()
    submissions.post(order_id=order_id, client=client_of(ada.user.pk), body={})
    run_submission()
    assert SetAside.objects.get().order_id == order_id
    return str(order_id)


def archived(ada: APIClient) -> str:
    order_id = finished_order(purchase={"customer": ada.user})
    archive(order_id)
    return str(order_id)


PLACES: Sequence[Callable[[APIClient], str]] = (placed, inserted, set_aside, archived)


def token_client(role: str, scopes: Sequence[TokenScope]) -> APIClient:
    return api_client(token_of(person(role), *scopes))


@pytest.mark.parametrize("place_order", PLACES)
@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_an_operators_token_reads_everybodys_orders_as_their_customers_do(
    ada: APIClient, role: str, place_order: Callable[[APIClient], str]
) -> None:
    operator, url = token_client(role, OPERATE), f"{ORDERS}/{place_order(ada)}"
    for part in READS:
        own, read = ada.get(url + part), operator.get(url + part)
        assert (read.status_code, read.json()) == (200, own.json())
    assert operator.get(ORDERS).json()["results"] == []


@pytest.mark.parametrize("place_order", PLACES)
@pytest.mark.parametrize(
    ("role", "scopes"), [("operator", READ), ("customer", OPERATE), ("customer", READ)], ids=str
)
def test_without_the_scope_or_the_access_level_an_order_is_one_that_does_not_exist(
    ada: APIClient, role: str, scopes: Sequence[TokenScope], place_order: Callable[[APIClient], str]
) -> None:
    stranger, order_id = token_client(role, scopes), place_order(ada)
    for part in READS:
        answers = [stranger.get(f"{ORDERS}/{each}{part}") for each in (order_id, uuid7())]
        problems = [assert_problem(answer, "not_found") | {"request_id": ""} for answer in answers]
        assert problems[0] == problems[1]


def test_only_its_client_cancels_an_order_as_a_client(ada: APIClient) -> None:
    operator = token_client("operator", list(TokenScope))
    assert_problem(operator.post(f"{ORDERS}/{inserted(ada)}/cancel"), "not_found")


def test_a_clients_read_takes_no_further_statement(ada: APIClient) -> None:
    url = f"{ORDERS}/{inserted(ada)}"
    client = api_client(token_of(ada.user, *READ))
    client.get(url)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    assert not [query["sql"] for query in queries if "auth_permission" in query["sql"]]


def test_an_operators_orders_are_still_her_own(ada: APIClient) -> None:
    operator = token_client("operator", list(TokenScope))
    order_id = UUID(place(operator)["id"])
    assert [order["id"] for order in operator.get(ORDERS).json()["results"]] == [str(order_id)]
