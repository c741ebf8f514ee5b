"""Uses the client that openapi-python-client makes: `python of_python_client.py cancel|order`.

Ends with status 0 if the shop at ORDERS_URL does what its document says.
"""

import os
import sys
from http import HTTPStatus
from typing import TypeVar
from uuid import UUID, uuid4

import httpx
from orders_client import AuthenticatedClient
from orders_client.api.orders import (
    cancel_order,
    get_order,
    list_orders,
    pay_for_order,
    place_order,
    place_orders,
    quote_order,
)
from orders_client.api.products import list_products
from orders_client.api.response_queues import acknowledge_messages, lease_messages, list_messages
from orders_client.models import (
    AcknowledgementRequest,
    AddressRequest,
    BatchOrderRequest,
    BatchRequest,
    Goal,
    LeaseRequest,
    LineRequest,
    ListOrdersExpandItem,
    ListOrdersStateItem,
    MessageResultWord,
    NewFulfilOrderRequest,
    Order,
    OrderState,
    PaymentRequest,
    Problem,
    ProblemCode,
    WaitingFor,
)
from orders_client.types import UNSET, Response, Unset

T = TypeVar("T")
QUEUE = "python-client"
ENDED = (OrderState.PROCESSED, OrderState.COMPENSATED, OrderState.ERROR)
CLIENT = AuthenticatedClient(
    base_url=os.environ["ORDERS_URL"],
    token=os.environ["ORDERS_TOKEN"],
    prefix="Token",
    timeout=httpx.Timeout(60),
    raise_on_unexpected_status=True,
)


def answer(response: Response[T | Problem], status: HTTPStatus = HTTPStatus.OK) -> T:
    """What a response with this status holds."""
    assert response.status_code == status, response
    assert response.parsed is not None and not isinstance(response.parsed, Problem)
    return response.parsed


def new_order(*, sku: str = "", card: str = "card_ok", queue: str = "") -> NewFulfilOrderRequest:
    """A poster for Ada, the first in the catalogue unless a SKU is given."""
    address = AddressRequest(
        name="Ada Lovelace",
        street="12 St James's Square",
        city="London",
        postal_code="SW1Y 4JH",
        country="GB",
    )
    return NewFulfilOrderRequest(
        lines=[LineRequest(sku=sku or first_sku(), quantity=1)],
        ship_to=address,
        email="ada@example.com",
        payment_method=card,
        reply_to=queue or UNSET,
    )


def first_sku() -> str:
    return answer(list_products.sync_detailed(client=CLIENT)).results[0].sku


def place(order: NewFulfilOrderRequest) -> Order:
    """Places an order twice with one key, as after a lost response, and once more beside one that is refused. It is one
    order, which costs what its quote says."""
    key = str(uuid4())
    first, second = (
        place_order.sync_detailed(client=CLIENT, body=order, idempotency_key=key) for _ in range(2)
    )
    placed = answer(first, HTTPStatus.ACCEPTED)
    assert answer(second, HTTPStatus.ACCEPTED).id == placed.id
    assert second.headers["Idempotent-Replayed"] == "true"
    other = new_order(sku="no-such-poster")
    batch = BatchRequest([BatchOrderRequest(key, order), BatchOrderRequest("another", other)])
    replayed, refused = answer(place_orders.sync_detailed(client=CLIENT, body=batch)).results
    assert (replayed.status, replayed.order_id, replayed.replayed) == (HTTPStatus.ACCEPTED, placed.id, True)
    assert isinstance(refused.problem, Problem) and refused.problem.errors
    assert refused.problem.errors[0].pointer == "/orders/1/order/lines/0/sku"
    assert answer(quote_order.sync_detailed(client=CLIENT, body=order)).total == placed.total
    return placed


def follow(order_id: UUID) -> Order:
    """Reads an order whenever it has changed, until it has ended or waits for its customer."""
    tag: str | Unset = UNSET
    for _ in range(100):
        response = get_order.sync_detailed(order_id, client=CLIENT, if_none_match=tag, prefer="wait=10")
        if response.status_code == HTTPStatus.NOT_MODIFIED:
            continue
        assert isinstance(response.parsed, Order), response
        if response.parsed.state in ENDED or response.parsed.waiting_for is WaitingFor.CUSTOMER:
            return response.parsed
        tag = response.headers["ETag"]
    raise AssertionError(f"order {order_id} does not end")


def cancel() -> None:
    """Cancels an order that nobody has taken yet."""
    placed = place(new_order())
    cancelled = answer(cancel_order.sync_detailed(placed.id, client=CLIENT), HTTPStatus.ACCEPTED)
    assert (cancelled.id, cancelled.goal) == (placed.id, Goal.COMPENSATE)


def order() -> None:
    """Follows the cancelled order and two others to their ends, of which one is paid for in another way."""
    (cancelled,) = answer(list_orders.sync_detailed(client=CLIENT)).results
    assert follow(cancelled.id).state is OrderState.COMPENSATED

    done = follow(place(new_order()).id)
    assert done.state is OrderState.PROCESSED
    latest = get_order.sync_detailed(done.id, client=CLIENT)
    unchanged = get_order.sync_detailed(done.id, client=CLIENT, if_none_match=latest.headers["ETag"])
    assert unchanged.status_code == HTTPStatus.NOT_MODIFIED

    declined = follow(place(new_order(card="card_declined", queue=QUEUE)).id)
    assert declined.waiting_for is WaitingFor.CUSTOMER
    assert [step.error.code for step in declined.steps if step.error] == ["card_declined"]
    other_card = PaymentRequest(payment_method="card_ok")
    answer(pay_for_order.sync_detailed(declined.id, client=CLIENT, body=other_card), HTTPStatus.ACCEPTED)
    paid = follow(declined.id)
    assert paid.state is OrderState.PROCESSED

    states = [ListOrdersStateItem.PROCESSED, ListOrdersStateItem.ERROR]
    page = answer(list_orders.sync_detailed(client=CLIENT, state=states, expand=[ListOrdersExpandItem.STEPS]))
    assert [entry.id for entry in page.results] == [paid.id, done.id]
    assert [entry.steps for entry in page.results] == [paid.steps, done.steps]
    assert read_messages(paid.id) == ["received", "started", "payment_declined", "completed"]
    be_refused()


def read_messages(order_id: UUID) -> list[str]:
    """Leases the messages about an order, acknowledges them, and returns what they say."""
    leased = answer(lease_messages.sync_detailed(QUEUE, client=CLIENT, body=LeaseRequest(wait=10)))
    assert leased.lease is not None
    assert {message.order_id for message in leased.messages} == {order_id}
    *_, last = leased.messages
    assert last.body.charged and last.body.charged == last.body.total
    acknowledgement = AcknowledgementRequest(
        ids=[message.id for message in leased.messages], lease=leased.lease
    )
    answered = answer(acknowledge_messages.sync_detailed(QUEUE, client=CLIENT, body=acknowledgement))
    assert {result.result for result in answered.results} == {MessageResultWord.DONE}
    assert answer(list_messages.sync_detailed(QUEUE, client=CLIENT)).results == []
    return [message.kind for message in leased.messages]


def be_refused() -> None:
    """Orders what nobody sells."""
    problem = place_order.sync_detailed(client=CLIENT, body=new_order(sku="no-such-poster")).parsed
    assert isinstance(problem, Problem)
    assert problem.code is ProblemCode.VALIDATION_FAILED
    assert [mistake.pointer for mistake in problem.errors or ()] == ["/lines/0/sku"]


if __name__ == "__main__":
    {"cancel": cancel, "order": order}[sys.argv[1]]()
