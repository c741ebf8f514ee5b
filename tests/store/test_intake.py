"""The intake against PostgreSQL: what it inserts, what it refuses, and in how many statements (S2, S3)."""

import copy
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries

from orders.business import Line, Money, Profile, registry
from orders.business.intake import OrderIntake
from orders.engine.intakes import (
    AcceptedOrder,
    DuplicateSubmission,
    IntakeAnswer,
    RejectedSubmission,
    Submission,
)
from orders.models import Order, OrderLine, SubmissionMessage
from orders.selectors.customer_order import order_data
from orders.shop.models import Product
from tests.support.businesses import Bakery, Oven, business
from tests.support.order_bodies import EMAIL, PARIS, SUBMITTED, submitted_body

STATEMENTS = 5
"""Known order ids, products, customers, orders, lines."""

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def products() -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)
    Product.objects.create(sku="first-sun", title="First Sun", artist="A", price=4900, is_listed=False)
    Product.objects.create(sku="nap", title="Nap", artist="A", price=490000, currency="HUF")


@pytest.fixture
def customer() -> User:
    return User.objects.create(username="ada")


def submission(*, client: str = "guest", order_id: uuid.UUID | None = None, **changes: Any) -> Submission:
    lines = [SUBMITTED["lines"][0] | {"unit_price": 3000}, SUBMITTED["lines"][1]]
    body = submitted_body(lines=lines, ship_to=PARIS | {"country": "fr"}, total=10900) | changes
    return Submission(
        order_id=order_id or uuid.uuid4(),
        client=client,
        body=copy.deepcopy(body),
        posted_at=datetime(2030, 1, 1, 12, tzinfo=UTC),
    )


def take(*submissions: Submission) -> list[IntakeAnswer]:
    return list(OrderIntake()(submissions))


@pytest.mark.pattern("S2")
def test_an_order_is_inserted_as_the_customer_saw_it(customer: User) -> None:
    sent = submission(client=f"user:{customer.pk}", priority=7, reply_to="app-1")
    (answer,) = take(sent)
    assert isinstance(answer, AcceptedOrder)
    assert (answer.submission, answer.workflow) == (sent, registry.newest_workflows()["fulfil-order"])
    assert (answer.priority, answer.reply_to) == (7, "app-1")
    assert answer.description == order_data(Order.objects.get(pk=sent.order_id))
    order = Order.objects.get(pk=sent.order_id)
    assert (order.customer, order.email, order.currency) == (customer, EMAIL, "EUR")
    assert (order.total, order.data["payment_method"]) == (10900, "card_ok")
    assert order.data["ship_to"]["country"] == "FR"
    assert order.title == "2 × Tidal Lines, 1 × First Sun"
    assert order.promised_by == order.placed_at + timedelta(minutes=10)
    assert order.placed_at == datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert order.inserted_at is not None
    lines = order.lines.order_by("sku").values_list("sku", "title", "quantity", "unit_price")
    assert list(lines) == [("first-sun", "First Sun", 1, 4900), ("tidal-lines", "Tidal Lines", 2, 3000)]


def test_every_step_can_read_the_description_of_an_accepted_order() -> None:
    (answer,) = take(submission())
    assert isinstance(answer, AcceptedOrder)
    for step in answer.workflow.steps:
        assert step.data(answer.description)


def test_a_guests_order_has_no_customer() -> None:
    sent = submission()
    take(sent)
    assert Order.objects.get(pk=sent.order_id).customer is None


@pytest.mark.pattern("S3")
def test_a_bad_order_does_not_hold_up_the_others() -> None:
    sent = [submission(), submission(total=1), submission(), submission(client="user:999999"), submission()]
    answers = take(*sent)
    assert [type(answer) for answer in answers] == [
        AcceptedOrder,
        RejectedSubmission,
        AcceptedOrder,
        RejectedSubmission,
        AcceptedOrder,
    ]
    assert [answer.submission for answer in answers] == sent
    assert set(Order.objects.values_list("pk", flat=True)) == {sent[n].order_id for n in (0, 2, 4)}


@pytest.mark.pattern("S3")
def test_a_product_that_the_shop_does_not_sell_is_rejected() -> None:
    line = {"sku": "no-such", "title": "No", "quantity": 1, "unit_price": 100}
    forint = {"sku": "nap", "title": "Nap", "quantity": 1, "unit_price": 100}
    answers = take(submission(lines=[line], total=100), submission(lines=[forint], total=100))
    assert [answer.reason for answer in answers if isinstance(answer, RejectedSubmission)] == [
        "unknown product 'no-such'.",
        "the product 'nap' is sold in HUF, not in EUR.",
    ]
    assert not Order.objects.exists()


@pytest.mark.pattern("S3")
def test_the_same_message_twice_makes_one_order() -> None:
    sent = submission()
    assert [type(answer) for answer in take(sent, sent)] == [AcceptedOrder, DuplicateSubmission]
    assert [type(answer) for answer in take(sent)] == [DuplicateSubmission]
    assert Order.objects.count() == 1
    assert OrderLine.objects.count() == 2


def test_a_broken_copy_of_a_known_order_changes_nothing() -> None:
    sent = submission()
    take(sent)
    assert [type(answer) for answer in take(submission(order_id=sent.order_id, total=1))] == [
        DuplicateSubmission
    ]


def test_a_bad_message_twice_is_set_aside_once() -> None:
    sent = submission(total=1)
    assert [type(answer) for answer in take(sent, sent)] == [RejectedSubmission, DuplicateSubmission]


def test_a_corrected_message_is_accepted_even_beside_the_bad_one() -> None:
    bad = submission(total=1)
    assert [type(answer) for answer in take(bad, submission(order_id=bad.order_id))] == [
        RejectedSubmission,
        AcceptedOrder,
    ]


def test_an_empty_batch_is_no_work() -> None:
    assert take() == []


def test_an_order_that_another_process_has_just_inserted_can_be_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = submission()
    take(sent)
    with monkeypatch.context() as blind:
        blind.setattr(Order.objects, "filter", lambda **_: Order.objects.none())
        with pytest.raises(IntegrityError), transaction.atomic():
            take(sent)
    assert [type(answer) for answer in take(sent)] == [DuplicateSubmission]


@pytest.mark.parametrize("number", [1, 200])
def test_the_number_of_statements_does_not_grow_with_the_batch(
    number: int, customer: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    sent = [submission(client=f"user:{customer.pk}") for _ in range(number)]
    with django_assert_num_queries(STATEMENTS):
        answers = take(*sent)
    assert {type(answer) for answer in answers} == {AcceptedOrder}
    assert Order.objects.count() == number


def test_the_largest_batch_is_inserted() -> None:
    Product.objects.bulk_create(Product(sku=f"sku-{n}", title="T", artist="A", price=100) for n in range(100))
    lines = [{"sku": f"sku-{n}", "title": "T", "quantity": 1, "unit_price": 100} for n in range(100)]
    take(*(submission(lines=lines, total=10_000) for _ in range(200)))
    assert OrderLine.objects.count() == 20_000


def test_an_order_of_the_longest_texts_is_inserted_with_a_shortened_title() -> None:
    Product.objects.bulk_create(Product(sku=f"{n:040}", title="T", artist="A", price=100) for n in range(4))
    lines = [{"sku": f"{n:040}", "title": "x" * 120, "quantity": 1, "unit_price": 100} for n in range(4)]
    (answer,) = take(submission(lines=lines, total=400))
    assert isinstance(answer, AcceptedOrder)
    assert len(Order.objects.get().title) == 200


@pytest.mark.pattern("S3")
@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (
            Profile(attributes={"icing": "x" * 240}),
            "attribute icing has 246 characters, and at most 240 fit.",
        ),
        (
            Profile(lines=[Line(sku="x" * 41, title="T")]),
            "lines[0].sku has 41 characters, and at most 40 fit.",
        ),
        (
            Profile(lines=[Line(sku="x", title="T" * 121)]),
            "lines[0].title has 121 characters, and at most 120 fit.",
        ),
        (Profile(email="x" * 255), "email has 255 characters, and at most 254 fit."),
        (Profile(title="a\0b"), "title has characters that cannot be stored."),
        (Profile(lines=[Line(sku="x", title="T"), Line(sku="x", title="U")]), "two lines have the same sku."),
        (
            Profile(lines=[Line(sku="x", title="T", quantity=0)]),
            "lines[0].quantity must be a whole number from 1 to 2147483647, not 0.",
        ),
        (
            Profile(value=Money(amount=-1, currency="EUR")),
            "the value must be a whole number from 0 to 9223372036854775807, not -1.",
        ),
        (Profile(value=Money(amount=1, currency="")), "the currency must be a code of 3 letters, not ''."),
        (Profile(promised_by=datetime(2030, 1, 1)), "promised_by must have a time zone."),  # noqa: DTZ001
    ],
)
def test_a_profile_that_does_not_fit_is_a_reason_to_reject(
    profile: Profile, reason: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        monkeypatch.setattr(Bakery, "profile", lambda data, placed_at: profile)
        Bakery.start("table 7", {"cake": "walnut"})
        (message,) = SubmissionMessage.objects.all()
        sent = Submission(
            order_id=message.order_id, client="guest", body=message.body, posted_at=message.posted_at
        )
        (answer,) = take(sent)
    assert isinstance(answer, RejectedSubmission)
    assert answer.reason == reason
