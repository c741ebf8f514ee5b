"""`POST orders`: what is accepted, what becomes of it, and everything that is refused."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from orders.business.intake import read_submission
from orders.engine.intakes import RejectedSubmission, Submission
from orders.fields.order_numbers import spoken_number
from orders.models import Order, SubmissionMessage
from orders.shop.models import Product
from tests.support.order_bodies import BODY, TOTAL, order_body
from tests.web.helpers import ORDERS, assert_problem, mistakes, place


@pytest.mark.pattern("S1", "Q2")
def test_a_placed_order_is_a_message_on_the_queue_and_nothing_else_yet(ada: APIClient) -> None:
    response = ada.post(ORDERS, order_body(priority=9, reply_to="shop.1"))
    assert response.status_code == 202
    message = SubmissionMessage.objects.get()
    assert (str(message.order_id), message.client) == (response.json()["id"], f"user:{ada.user.pk}")
    assert message.body["priority"] == 9
    assert message.body["reply_to"] == f"user:{ada.user.pk}/shop.1"
    assert not Order.objects.exists()


def test_the_answer_says_where_the_order_is_and_what_it_is(ada: APIClient) -> None:
    response = ada.post(ORDERS, order_body())
    body = response.json()
    assert (response["Location"], response["Retry-After"]) == (f"{ORDERS}/{body['id']}", "1")
    assert "Idempotent-Replayed" not in response
    again = ada.get(response["Location"])
    assert (again.status_code, again.json(), again["ETag"]) == (200, body, response["ETag"])
    assert {key: value for key, value in body.items() if key not in ("id", "placed_at", "updated_at")} == {
        "workflow": "fulfil-order",
        "number": spoken_number(UUID(body["id"])),
        "correctable": [],
        "subject": "",
        "reference": "",
        "metadata": {},
        "version": "0-pending",
        "title": "2 × Tidal Lines, 1 × First Sun",
        "state": "pending",
        "goal": "complete",
        "waiting_for": None,
        "waiting_until": None,
        "failure_count": 0,
        "complete_by": None,
        "total": {"amount": TOTAL, "currency": "EUR"},
        "lines": [
            {
                "sku": "tidal-lines",
                "title": "Tidal Lines",
                "quantity": 2,
                "unit_price": {"amount": 3900, "currency": "EUR"},
            },
            {
                "sku": "first-sun",
                "title": "First Sun",
                "quantity": 1,
                "unit_price": {"amount": 4900, "currency": "EUR"},
            },
        ],
        "steps": [],
        "links": {
            "self": f"{ORDERS}/{body['id']}",
            "events": f"{ORDERS}/{body['id']}/events",
            "progress": f"{ORDERS}/{body['id']}/progress",
            "stream": f"{ORDERS}/{body['id']}/stream",
        },
    }


def line(**changes: Any) -> dict[str, Any]:
    return {"lines": [{"sku": "tidal-lines", "quantity": 1} | changes]}


def ship_to(**changes: Any) -> dict[str, Any]:
    return {"ship_to": changes}


BAD: list[tuple[dict[str, Any], str]] = [
    (line(quantity=0), "/lines/0/quantity"),
    (line(quantity=1000), "/lines/0/quantity"),
    (line(quantity=-1), "/lines/0/quantity"),
    (line(quantity=10**30), "/lines/0/quantity"),
    (line(quantity="1"), "/lines/0/quantity"),
    (line(quantity=1.5), "/lines/0/quantity"),
    (line(quantity=True), "/lines/0/quantity"),
    (line(quantity=None), "/lines/0/quantity"),
    (line(sku="unknown"), "/lines/0/sku"),
    (line(sku="sold-out"), "/lines/0/sku"),
    (line(sku=""), "/lines/0/sku"),
    (line(sku=7), "/lines/0/sku"),
    (line(sku="x" * 41), "/lines/0/sku"),
    (line(sku="tidal\x00lines"), "/lines/0/sku"),
    (line(price=1), "/lines/0/price"),
    ({"lines": [{"quantity": 1}]}, "/lines/0/sku"),
    ({"lines": [{"sku": "first-sun", "quantity": 1}, {"sku": "no", "quantity": 1}]}, "/lines/1/sku"),
    ({"lines": [{"sku": "first-sun", "quantity": 1}] * 2}, "/lines/1/sku"),
    ({"lines": []}, "/lines"),
    ({"lines": [{"sku": f"p{number}", "quantity": 1} for number in range(101)]}, "/lines"),
    ({"lines": {"sku": "first-sun", "quantity": 1}}, "/lines"),
    ({"lines": [1]}, "/lines/0"),
    ({"lines": None}, "/lines"),
    (ship_to(name=""), "/ship_to/name"),
    (ship_to(name="  "), "/ship_to/name"),
    (ship_to(street="x" * 201), "/ship_to/street"),
    (ship_to(city=None), "/ship_to/city"),
    (ship_to(city="Lon\x00don"), "/ship_to/city"),
    (ship_to(city="London\nBcc: x"), "/ship_to/city"),
    (ship_to(city="London\u2028"), "/ship_to/city"),
    (ship_to(city="\ud800"), "/ship_to/city"),
    (ship_to(postal_code=12345), "/ship_to/postal_code"),
    (ship_to(postal_code="10115"), "/ship_to/postal_code"),
    (ship_to(postal_code=""), "/ship_to/postal_code"),
    (ship_to(country="US", state="Ontario", postal_code="98101"), "/ship_to/state"),
    (ship_to(line2="a\nb"), "/ship_to/line2"),
    (ship_to(phone="call me"), "/ship_to/phone"),
    (ship_to(country="GBR"), "/ship_to/country"),
    (ship_to(country="G1"), "/ship_to/country"),
    (ship_to(country="ÄÖ"), "/ship_to/country"),
    (ship_to(planet="Earth"), "/ship_to/planet"),
    ({"email": "nobody"}, "/email"),
    ({"email": "a@b"}, "/email"),
    ({"email": "a b@example.com"}, "/email"),
    ({"email": "ä@example.com"}, "/email"),
    ({"email": ".a@example.com"}, "/email"),
    ({"email": f"{'a' * 250}@example.com"}, "/email"),
    ({"email": "a@example.com\r\nBcc: b@example.com"}, "/email"),
    ({"payment_method": ""}, "/payment_method"),
    ({"payment_method": "card ok"}, "/payment_method"),
    ({"payment_method": "x" * 65}, "/payment_method"),
    ({"payment_method": "card\x00"}, "/payment_method"),
    ({"priority": 10}, "/priority"),
    ({"priority": -1}, "/priority"),
    ({"priority": "5"}, "/priority"),
    ({"priority": None}, "/priority"),
    ({"reply_to": "a/b"}, "/reply_to"),
    ({"reply_to": ""}, "/reply_to"),
    ({"reply_to": "x" * 65}, "/reply_to"),
    ({"reply_to": "user:1/q"}, "/reply_to"),
    ({"total": 1}, "/total"),
    ({"a/b~c": 1}, "/a~1b~0c"),
    ({"\x00": 1}, "/\x00"),
]


@pytest.mark.parametrize(("changes", "where"), BAD, ids=lambda value: ascii(value)[:60])
def test_a_bad_value_is_refused_with_its_place(ada: APIClient, changes: dict[str, Any], where: str) -> None:
    raw = json.dumps(order_body(**changes))
    assert mistakes(ada.post(ORDERS, raw, content_type="application/json")) == [where]
    assert not SubmissionMessage.objects.exists()


def test_all_mistakes_are_named_at_once(ada: APIClient) -> None:
    assert sorted(mistakes(ada.post(ORDERS, {"colour": "red", "priority": 11, "lines": []}))) == [
        "/colour",
        "/email",
        "/lines",
        "/payment_method",
        "/priority",
        "/ship_to",
    ]


def test_ten_thousand_mistakes_make_a_short_answer(ada: APIClient) -> None:
    response = ada.post(ORDERS, {f"field{number}": 1 for number in range(10_000)})
    assert mistakes(response)
    assert len(response.content) < 20_000


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null"])
def test_a_body_that_is_not_an_object_is_refused(ada: APIClient, body: bytes) -> None:
    assert mistakes(ada.post(ORDERS, body, content_type="application/json")) == [""]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{'lines': []}",
        b"\xff\xfe",
        b'{"email": "\xe4"}',
        b'\xef\xbb\xbf{"email": "a@b.de"}',
        b'{"priority": NaN}',
        b'{"priority": -Infinity}',
        b'{"email": "a@b.de", "email": "c@d.de"}',
        b'{"ship_to": {"name": "A", "name": "B"}}',
        b'{"\\ud800": 1}',
        b'{"priority": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
    ],
    ids=lambda body: ascii(body[:30]),
)
def test_a_body_that_is_not_json_is_refused(ada: APIClient, body: bytes) -> None:
    assert_problem(ada.post(ORDERS, body, content_type="application/json"), "malformed_request")


def test_a_body_of_more_than_256_kib_is_refused(ada: APIClient) -> None:
    limit = 256 * 1024
    fits = json.dumps(BODY).ljust(limit)
    assert ada.post(ORDERS, fits, content_type="application/json").status_code == 202
    assert_problem(ada.post(ORDERS, fits + " ", content_type="application/json"), "body_too_large")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"]
)
def test_another_type_of_body_is_refused(ada: APIClient, kind: str) -> None:
    response = ada.post(ORDERS, json.dumps(BODY), content_type=kind)
    assert_problem(response, "unsupported_media_type")


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip"])
def test_a_body_that_says_it_is_compressed_is_refused(ada: APIClient, coding: str) -> None:
    response = ada.post(ORDERS, BODY, headers={"Content-Encoding": coding})
    assert_problem(response, "unsupported_media_type")
    assert ada.post(ORDERS, BODY, headers={"Content-Encoding": "identity"}).status_code == 202


def test_parameters_of_an_act_are_refused_since_none_has_a_meaning(ada: APIClient) -> None:
    assert mistakes(ada.post(f"{ORDERS}?dry_run=true&fields=id", BODY)) == ["dry_run", "fields"]
    assert mistakes(ada.post(f"{ORDERS}/quote?x", BODY)) == ["x"]
    assert_problem(ada.put(f"{ORDERS}?x", BODY), "method_not_allowed")
    assert not SubmissionMessage.objects.exists()


def test_a_missing_body_is_refused_for_its_missing_lines(ada: APIClient) -> None:
    assert "/lines" in mistakes(ada.post(ORDERS))


@pytest.mark.parametrize("key", ["", "a\x00", "schlüssel", "x" * 256, "a\nb"])
def test_a_bad_idempotency_key_is_refused(ada: APIClient, key: str) -> None:
    response = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": key})
    assert mistakes(response) == ["Idempotency-Key"]


def test_a_hundred_lines_are_accepted(ada: APIClient) -> None:
    Product.objects.bulk_create(
        Product(sku=f"p{number}", title="P", artist="A", price=1) for number in range(100)
    )
    lines = [{"sku": f"p{number}", "quantity": 999} for number in range(100)]
    assert place(ada, lines=lines)["total"]["amount"] == 99_900


def test_a_country_is_stored_in_capitals(ada: APIClient) -> None:
    place(ada, ship_to={"country": "gb"})
    assert SubmissionMessage.objects.get().body["ship_to"]["country"] == "GB"


anything = st.text(max_size=70)
likely = st.text(alphabet="aB1 .-_@+'ü\x00\n\u2028\ud800", max_size=30)
words = anything | likely
mail = st.builds("{}@{}".format, likely, likely) | st.emails()


# No transaction around all examples: a transaction may last 5 s at most.
@pytest.mark.pattern("S3")
@pytest.mark.django_db(transaction=True)
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(
    address=st.fixed_dictionaries(
        dict.fromkeys(("name", "street", "city", "postal_code"), words)
        | {"country": words | st.sampled_from(["DE", "gb", "ßß", "\u0131i"])}
    ),
    email=mail,
    payment_method=words,
    reply_to=words,
    priority=st.integers(-2, 12),
)
def test_what_the_api_accepts_the_submission_process_does_not_refuse(
    ada: APIClient, address: dict[str, str], **fields: Any
) -> None:
    for changes in ({"ship_to": address}, *({name: value} for name, value in fields.items())):
        raw = json.dumps(order_body(**changes))
        if ada.post(ORDERS, raw, content_type="application/json").status_code == 202:
            message = SubmissionMessage.objects.latest("id")
            sent = Submission(
                order_id=message.order_id,
                client=message.client,
                body=message.body,
                posted_at=message.posted_at,
            )
            assert not isinstance(read_submission(sent), RejectedSubmission)
