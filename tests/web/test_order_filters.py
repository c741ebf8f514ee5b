"""Which orders a list selects: the same whatever place an order is in, and none is left out between pages."""

import random
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.models import ArchivedOrder, Event, OrderLine, SetAside, SubmissionMessage
from orders.selectors import order_lists
from orders.vocabulary import ProcessState, WaitingFor
from tests.support.factories import ago, ahead, make_order, make_purchase
from tests.support.finished_orders import archive, finished_order
from tests.support.order_bodies import order_body
from tests.web.helpers import ORDERS, mistakes

pytestmark = pytest.mark.django_db

Json = dict[str, Any]
DECLINED = {"state": "failed", "error": {"code": "no", "message": "no", "waits_for": "customer"}}
STORED: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
    ({}, {}),
    ({"mix": "completed"}, {}),
    ({"mix": "running"}, {"process_state": "processing"}),
    ({"mix": DECLINED | {"not_before": ahead}}, {}),
    ({"mix": {"state": "awaiting", "awaits": {"kind": "decision"}}}, {}),
    ({"mix": {"state": "awaiting", "awaits": {"kind": "event"}}}, {"process_state": "processing"}),
    (
        {"mix": {"state": "awaiting", "awaits": {"kind": "delay"}, "complete_by": None, "not_before": ahead}},
        {},
    ),
    ({"mix": {"state": "not_started", "attempt": 1, "not_before": ahead}}, {}),
    ({"mix": {"state": "not_started", "waiting_since": ago}}, {}),
    ({"mix": "completed", "bake": "failed"}, {"process_state": "error"}),
    ({"mix": "compensating"}, {"goal": "compensate", "process_state": "processing"}),
    (dict.fromkeys(("mix", "heat-oven", "bake", "box"), "completed"), {"process_state": "processed"}),
    ({}, {"process_state": "compensated", "goal": "compensate"}),
]
SKUS = ["tidal-lines", "first-sun"]
TRIES = 250


def at(columns: Mapping[str, Any]) -> dict[str, Any]:
    """These columns, at times an hour from now."""
    return {name: value(3_600) if callable(value) else value for name, value in columns.items()}


def purchase(customer: Any, number: int, **fields: Any) -> dict[str, Any]:
    """What was bought, which differs from one order to the next."""
    return {
        "customer": customer,
        "total": 3_900 * (number % 4),
        "currency": "SEK" if number % 5 == 0 else "EUR",
        "subject": f"table {number % 3}",
        **fields,
    }


def fill(customer: Any) -> None:
    """Orders of this customer in each state and place. Every third is as old as the one before it."""
    ages = [1_000 * (number - (number % 3 == 2)) for number in range(40)]
    for number, (steps, process) in enumerate(STORED):
        own = {name: value if isinstance(value, str) else at(value) for name, value in steps.items()}
        order = make_order(own, **process)
        bought = make_purchase(order.pk, **purchase(customer, number, placed_at=ago(ages[number])))
        if number % 2:
            OrderLine.objects.create(
                order=bought, sku=SKUS[number % 3 % 2], title="T", quantity=1, unit_price=1
            )
        if number % 4:
            happen(order.pk, ago(ages[-number]))
    for number in range(5):
        state = "compensated" if number == 2 else "processed"
        order_id = finished_order(days=number, state=state, purchase=purchase(customer, number))
        archive(order_id)
        archived = ArchivedOrder.objects.get(pk=order_id)
        archived.placed_at = ago(ages[3 * number])
        archived.document["order"]["placed_at"] = archived.placed_at.isoformat()
        archived.document["events"][-1]["at"] = ago(ages[39 - 6 * number]).isoformat()
        archived.save()
    for number in range(12):
        submit(customer, number, ages[2 * number + 1])


def happen(order_id: UUID, when: datetime) -> None:
    """Something happens to an order at this time."""
    event = Event.objects.create(order_id=order_id, kind="claimed", actor_kind="scheduler", actor_name="s")
    Event.objects.filter(pk=event.pk).update(at=when)


def submit(customer: Any, number: int, age: float) -> None:
    """Puts an order on the queue, or sets it aside. Of some nobody knows what they are."""
    lines = [{"sku": SKUS[number % 2], "title": "T", "quantity": 1 + number % 3, "unit_price": 3_900}]
    body: Any = {
        **order_body(),
        "lines": lines,
        "currency": "EUR",
        "total": 3_900 * (1 + number % 3),
        "subject": f"table {number % 3}",
        "placed_at": ago(age).isoformat(),
    }
    client, order_id = f"user:{customer.pk}", UUID(int=number + 1)
    body = ["anything"] if number in (4, 5) else body
    if number % 2:
        SubmissionMessage.objects.create(order_id=order_id, client=client, body=body)
        SubmissionMessage.objects.update(posted_at=ago(age))
    else:
        SetAside.objects.create(
            order_id=order_id,
            client=client,
            body=body,
            reason="no",
            posted_at=ago(age),
            set_aside_at=ago(age / 3),
        )
    if number % 3 == 0:
        happen(order_id, ago(age / 2))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a page look at few orders."""
    monkeypatch.setattr(order_lists, "LOOKED_AT", 4)
    monkeypatch.setattr(order_lists, "SUBMISSIONS_LOOKED_AT", 3)


def walk(client: APIClient, query: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """The ids of all pages, and how many there are on each."""
    ids: list[str] = []
    sizes = []
    page = client.get(ORDERS, query).json()
    while True:
        ids += [order["id"] for order in page["results"]]
        sizes.append(len(page["results"]))
        if page["next"] is None:
            return ids, sizes
        page = client.get(page["next"]).json()


def moment(order: Json, name: str) -> datetime:
    return datetime.fromisoformat(order[name])


def amount(order: Json, otherwise: int) -> int:
    return order["total"]["amount"] if order["total"] else otherwise


CONDITIONS: Mapping[str, Callable[[Json, Any], bool]] = {
    "state": lambda order, value: order["state"] in value.split(","),
    "waiting_for": lambda order, value: order["waiting_for"] in value.split(","),
    "subject": lambda order, value: order["subject"] == value,
    "placed_after": lambda order, value: moment(order, "placed_at") > datetime.fromisoformat(value),
    "placed_before": lambda order, value: moment(order, "placed_at") < datetime.fromisoformat(value),
    "updated_after": lambda order, value: moment(order, "updated_at") > datetime.fromisoformat(value),
    "sku": lambda order, value: value in [line["sku"] for line in order["lines"]],
    "total_at_least": lambda order, value: amount(order, -1) >= value,
    "total_at_most": lambda order, value: amount(order, 2**63) <= value,
    "currency": lambda order, value: (order["total"] or {}).get("currency") == value,
}


def some_query(chance: random.Random, orders: list[Json]) -> dict[str, Any]:
    """Up to three conditions, with values that orders have."""
    values: dict[str, Callable[[], Any]] = {
        "state": lambda: ",".join(chance.sample(list(ProcessState), chance.randint(1, 3))),
        "waiting_for": lambda: ",".join(chance.sample(list(WaitingFor), chance.randint(1, 3))),
        "subject": lambda: f"table {chance.randrange(4)}",
        **{
            name: lambda name=name: chance.choice(orders)[f"{name.partition('_')[0]}_at"]  # type: ignore[misc]
            for name in ("placed_after", "placed_before", "updated_after")
        },
        "sku": lambda: chance.choice([*SKUS, "tide-30x40", "no-such"]),
        "total_at_least": lambda: chance.choice([0, 3_900, 7_800]),
        "total_at_most": lambda: chance.choice([0, 3_900, 7_800]),
        "currency": lambda: chance.choice(["EUR", "SEK", "GBP"]),
    }
    return {name: values[name]() for name in chance.sample(list(values), chance.randint(1, 3))}


@pytest.mark.usefixtures("few")
def test_every_selection_is_whole_and_in_order_however_few_orders_a_page_looks_at(
    ada: APIClient, bob: APIClient
) -> None:
    fill(ada.user)
    fill_of_bob = purchase(bob.user, 1)
    make_purchase(make_order().pk, **fill_of_bob)
    ids, _ = walk(ada, {"page_size": 7})
    orders = [ada.get(f"{ORDERS}/{order_id}").json() for order_id in ids]
    assert len(set(ids)) == len(ids) == len(STORED) + 5 + 12
    assert {order["waiting_for"] for order in orders} == {None, *WaitingFor}
    chance, matches = random.Random(16), 0
    for _ in range(TRIES):
        query = some_query(chance, orders)
        expected = [
            order["id"]
            for order in orders
            if all(CONDITIONS[name](order, value) for name, value in query.items())
        ]
        ids, sizes = walk(ada, {**query, "page_size": chance.randint(1, 4)})
        assert ids == expected, query
        assert len(sizes) <= len(orders) + 1
        matches += len(expected)
    assert matches > TRIES


@pytest.mark.usefixtures("few")
def test_a_page_that_has_looked_at_enough_ends_there_and_the_next_one_goes_on(ada: APIClient) -> None:
    for number in range(9):
        state = "error" if number == 8 else "pending"
        make_purchase(make_order(process_state=state).pk, customer=ada.user, placed_at=ago(number))
    ids, sizes = walk(ada, {"state": "error"})
    assert (len(ids), sizes) == (1, [0, 0, 1])
    ids, sizes = walk(ada, {"placed_before": ago(-9).isoformat(), "page_size": 3})
    assert (len(ids), sizes) == (9, [3, 3, 3])


@pytest.mark.parametrize(
    ("steps", "process", "expected"),
    [
        ({}, {}, {"mix"}),
        ({"mix": "completed"}, {}, {"heat-oven"}),
        ({"mix": "running"}, {"process_state": "processing"}, {"mix"}),
        ({"mix": "completed", "heat-oven": "skipped", "bake": "running"}, {}, {"bake"}),
        ({"mix": "running", "heat-oven": "running"}, {}, {"mix", "heat-oven"}),
        (
            {"mix": "running", "heat-oven": {"state": "not_started", "waiting_since": ago}},
            {},
            {"mix", "heat-oven"},
        ),
        ({"mix": {"state": "awaiting"}}, {}, {"mix"}),
        ({"mix": "completed", "heat-oven": {"state": "not_started", "attempt": 2}}, {}, {"heat-oven"}),
        ({"mix": "completed", "bake": "failed"}, {"process_state": "error"}, {"bake"}),
        ({"mix": "failed"}, {"goal": "compensate"}, set()),
        ({"mix": "failed", "heat-oven": "compensating"}, {"goal": "compensate"}, {"heat-oven"}),
        ({"mix": {"state": "failed", "outcome": "unknown"}}, {"goal": "compensate"}, {"mix"}),
        ({"mix": {"state": "completed", "waiting_since": ago}}, {"goal": "compensate"}, {"mix"}),
        (
            dict.fromkeys(("mix", "heat-oven", "bake", "box"), "completed"),
            {"process_state": "processed"},
            set(),
        ),
        ({}, {"process_state": "compensated", "goal": "compensate"}, set()),
    ],
)
def test_an_order_is_found_by_the_step_that_it_is_at(
    ada: APIClient, steps: Mapping[str, Any], process: Mapping[str, Any], expected: set[str]
) -> None:
    own = {name: value if isinstance(value, str) else at(value) for name, value in steps.items()}
    order = make_order(own, **process)
    make_purchase(order.pk, customer=ada.user)
    matches = {
        step.name: ada.get(ORDERS, {"step": step.name}).json()["results"] for step in order.steps.all()
    }
    assert {name for name, results in matches.items() if results} == expected


def test_an_order_is_at_a_step_while_an_item_of_it_is_open(ada: APIClient) -> None:
    order = make_order({"mix": {"state": "awaiting", "awaits": {"kind": "items", "items": 1}}})
    make_purchase(order.pk, customer=ada.user)
    order.steps.filter(name="bake").update(name="box:1", state="failed")
    assert len(ada.get(ORDERS, {"step": "box"}).json()["results"]) == 1
    assert ada.get(ORDERS, {"step": "bake"}).json()["results"] == []


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("state=lost", "state"),
        ("state=pending,lost", "state"),
        ("state=pending&state=", "state"),
        ("waiting_for=nobody", "waiting_for"),
        ("step=a%0Ab", "step"),
        ("step=a&step=b", "step"),
        ("placed_before=yesterday", "placed_before"),
        ("updated_after=2026-01-01", "updated_after"),
        ("total_at_least=-1", "total_at_least"),
        ("total_at_most=1.5", "total_at_most"),
        (f"total_at_most={2**63}", "total_at_most"),
        ("currency=eur", "currency"),
        ("currency=", "currency"),
        (f"sku={'x' * 41}", "sku"),
    ],
)
def test_an_invalid_condition_is_refused(ada: APIClient, query: str, where: str) -> None:
    assert mistakes(ada.get(f"{ORDERS}?{query}")) == [where]


def test_the_largest_total_can_be_asked_for(ada: APIClient) -> None:
    largest = 2**63 - 1
    make_purchase(make_order().pk, customer=ada.user, total=largest)
    query = {"total_at_least": largest, "total_at_most": largest}
    assert len(ada.get(ORDERS, query).json()["results"]) == 1
