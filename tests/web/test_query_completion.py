"""What the query bar completes: the values that a field can have here, a bounded number, and by an index."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.models import CustomerTerm, Order, OrderLine
from orders.selectors.desk.completion import MOST_COMPLETED
from tests.support.people import person, signed_in
from tests.web.console_orders import an_order

pytestmark = pytest.mark.django_db
WORDS = "/console/orders/words/"


@pytest.fixture
def vera(db: None) -> Client:
    return signed_in(person("viewer", "vera"))


def words(client: Client, field: str, word: str = "") -> list[str]:
    answer = client.get(WORDS, {"field": field, "word": word})
    assert answer.status_code == 200
    values: list[str] = answer.json()["words"]
    return values


@pytest.mark.parametrize(
    ("field", "word", "expected"),
    [
        ("state", "er", ["error"]),
        ("state", "proce", ["processing", "processed"]),
        ("state", "CESS", ["processing", "processed"]),
        ("kind", "retr", ["retrying", "long_wait_before_a_retry"]),
        ("state", "canc", ["cancelled"]),
        ("state", "compens", ["cancelled"]),
        ("waiting", "anyth", ["anything"]),
        ("agent", "paym", ["payments"]),
        ("owner", "", ["vera"]),
        ("since", "yes", ["yesterday"]),
        ("archived", "", ["yes", "no"]),
        ("total", "2", [">200"]),
        ("colour", "r", []),
        ("", "", []),
    ],
)
def test_a_field_completes_what_it_can_have(vera: Client, field: str, word: str, expected: list[str]) -> None:
    assert words(vera, field, word) == expected


def test_the_values_of_a_state_and_a_standing_are_explained(vera: Client) -> None:
    answer = vera.get(WORDS, {"field": "standing", "word": "settl"}).json()
    word = "waiting_for_a_call_to_settle"
    about = "It is waiting until an unanswered call can no longer take effect."
    assert answer["words"] == [word]
    assert answer["about"][word].startswith(about)
    assert vera.get(WORDS, {"field": "agent", "word": "paym"}).json()["about"] == {}
    page = " ".join(vera.get("/console/orders/").content.decode().split())
    assert f'<option value="standing:{word}" data-help="that stand here" label="{about}' in page


def test_a_customer_is_found_by_account_name_and_email_from_two_characters_on(vera: Client) -> None:
    User.objects.create(username="adalbert")
    CustomerTerm.objects.create(email="ada@example.org", term="ada lovelace", is_name=True)
    CustomerTerm.objects.create(email="ada@example.org", term="ada@example.org", is_name=False)
    CustomerTerm.objects.create(email="ada@example.org", term="example.org", is_name=False)
    assert words(vera, "customer", "a") == words(vera, "email", "") == words(vera, "account", "a") == []
    assert words(vera, "customer", "Ad") == ['"ada lovelace"', "ada@example.org"]
    assert words(vera, "customer", "ada") == ["adalbert", '"ada lovelace"', "ada@example.org"]
    assert words(vera, "email", "exam") == ["ada@example.org"]
    assert words(vera, "account", "ada") == ["adalbert"]


def test_skus_are_those_of_orders_and_no_list_is_long(vera: Client) -> None:
    order = an_order({}, process_state="pending")
    Order.objects.update_or_create(pk=order.pk, defaults={"placed_at": order.created_at})
    for number in range(30):
        OrderLine.objects.create(
            order_id=order.pk, sku=f"tidal-{number:02}", title="a", quantity=1, unit_price=1
        )
    assert words(vera, "sku", "tidal-2")[:2] == ["tidal-20", "tidal-21"]
    assert len(words(vera, "sku", "tidal")) == MOST_COMPLETED
    assert words(vera, "sku", "idal") == []


@pytest.mark.parametrize(
    ("word", "index"), [("ada", "customer_term_by_beginning"), ("ad", "auth_user_username")]
)
def test_customers_are_found_by_the_indexes_of_beginnings(vera: Client, word: str, index: str) -> None:
    CustomerTerm.objects.bulk_create(
        CustomerTerm(email=f"c{number}@example.org", term=f"c{number} of", is_name=True)
        for number in range(3_000)
    )
    User.objects.bulk_create(User(username=f"c{number}") for number in range(3_000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE orders_customerterm, auth_user")
    with CaptureQueriesContext(connection) as queries:
        words(vera, "customer", word)
    statements = [query["sql"] for query in queries if "LIKE" in query["sql"]]
    with connection.cursor() as cursor:
        plans = []
        for sql in statements:
            cursor.execute(f"EXPLAIN {sql}")
            plans.append(" ".join(line for (line,) in cursor.fetchall()))
    assert len(plans) == 3
    assert not [plan for plan in plans if "Seq Scan" in plan]
    assert any(index in plan for plan in plans)
