"""Uses the client that openapi-generator makes for Python: `python of_generator.py cancel|order`.

Ends with status 0 if the shop does what its document says.
"""

import os
import sys
from uuid import UUID, uuid4

from orders_client import (
    AddressRequest,
    ApiClient,
    BatchOrderRequest,
    BatchRequest,
    Configuration,
    Goal,
    LineRequest,
    NewFulfilOrderRequest,
    Order,
    OrdersApi,
    OrderState,
    PaymentRequest,
    Problem,
    ProductsApi,
    ResponseQueuesApi,
    WaitingFor,
)
from orders_client.api_response import ApiResponse
from orders_client.exceptions import ApiException, BadRequestException

QUEUE = "generator"
ENDED = (OrderState.PROCESSED, OrderState.COMPENSATED, OrderState.ERROR)
# The client knows from the document where the shop is.
CLIENT = ApiClient(
    Configuration(
        api_key={"token": os.environ["ORDERS_TOKEN"]},
        api_key_prefix={"token": "Token"},
    )
)
ORDERS, PRODUCTS, QUEUES = OrdersApi(CLIENT), ProductsApi(CLIENT), ResponseQueuesApi(CLIENT)


def new_order(*, sku: str = "", card: str = "card_ok", queue: str | None = None) -> NewFulfilOrderRequest:
    """A poster for Ada, the first in the catalogue unless a SKU is given."""
    address = AddressRequest(
        name="Ada Lovelace",
        street="12 St James's Square",
        city="London",
        postal_code="SW1Y 4JH",
        country="GB",
    )
    return NewFulfilOrderRequest(
        lines=[LineRequest(sku=sku or PRODUCTS.list_products().results[0].sku, quantity=1)],
        ship_to=address,
        email="ada@example.com",
        payment_method=card,
        reply_to=queue,
    )


def header(response: ApiResponse[Order], name: str) -> str:
    """A header of a response. The client keeps the names as they were sent, in lower case."""
    return {key.lower(): value for key, value in (response.headers or {}).items()}[name.lower()]


def place(order: NewFulfilOrderRequest) -> Order:
    """Places an order twice with one key, as after a lost response, and once more beside one that is refused. It is one
    order, which costs what its quote says."""
    key = str(uuid4())
    first, second = (
        ORDERS.place_order_with_http_info(body=order, idempotency_key=key, _request_timeout=60)
        for _ in range(2)
    )
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.data.id == second.data.id
    assert header(second, "Idempotent-Replayed") == "true"
    items = {key: order, "another": new_order(sku="no-such-poster")}
    batch = BatchRequest(
        orders=[BatchOrderRequest(idempotency_key=name, order=item) for name, item in items.items()]
    )
    replayed, refused = ORDERS.place_orders(batch).results
    assert (replayed.status, replayed.order_id, replayed.replayed) == (202, first.data.id, True)
    assert refused.problem and refused.problem.errors
    assert refused.problem.errors[0].pointer == "/orders/1/order/lines/0/sku"
    assert ORDERS.quote_order(order).total == first.data.total
    return first.data


def follow(order_id: UUID) -> Order:
    """Reads an order whenever it has changed, until it has ended or waits for its customer."""
    tag: str | None = None
    for _ in range(100):
        try:
            response = ORDERS.get_order_with_http_info(
                order_id, if_none_match=tag, prefer="wait=10", _request_timeout=60
            )
        except ApiException as error:  # the client's way to say that nothing has changed
            assert error.status == 304
            continue
        if response.data.state in ENDED or response.data.waiting_for is WaitingFor.CUSTOMER:
            return response.data
        tag = header(response, "ETag")
    raise AssertionError(f"order {order_id} does not end")


def cancel() -> None:
    """Cancels an order that nobody has taken yet."""
    placed = place(new_order())
    cancelled = ORDERS.cancel_order(placed.id)
    assert (cancelled.id, cancelled.goal) == (placed.id, Goal.COMPENSATE)


def order() -> None:
    """Follows the cancelled order and two others to their ends, of which one is paid for in another way."""
    (cancelled,) = ORDERS.list_orders().results
    assert follow(cancelled.id).state is OrderState.COMPENSATED

    done = follow(place(new_order()).id)
    assert done.state is OrderState.PROCESSED

    declined = follow(place(new_order(card="card_declined", queue=QUEUE)).id)
    assert declined.waiting_for is WaitingFor.CUSTOMER
    assert [step.error.code for step in declined.steps if step.error] == ["card_declined"]
    ORDERS.pay_for_order(declined.id, PaymentRequest(payment_method="card_ok"))
    paid = follow(declined.id)
    assert paid.state is OrderState.PROCESSED

    page = ORDERS.list_orders(state=[OrderState.PROCESSED, OrderState.ERROR], expand=["steps"])
    assert [entry.id for entry in page.results] == [paid.id, done.id]
    assert [entry.steps for entry in page.results] == [paid.steps, done.steps]
    assert read_messages(paid.id) == ["received", "started", "payment_declined", "completed"]
    be_refused()


def read_messages(order_id: UUID) -> list[str]:
    """Reads the messages about an order, deletes them, and returns what they say."""
    page = QUEUES.list_messages(QUEUE, wait=10)
    assert {message.order_id for message in page.results} == {order_id}
    for message in page.results:
        QUEUES.delete_message(name=QUEUE, message_id=message.id)
    assert QUEUES.list_messages(QUEUE).results == []
    return [message.kind for message in page.results]


def be_refused() -> None:
    """Orders what nobody sells."""
    try:
        ORDERS.place_order(new_order(sku="no-such-poster"))
    except BadRequestException as error:
        assert isinstance(error.data, Problem)
        assert error.data.code == "validation_failed"
        assert [mistake.pointer for mistake in error.data.errors or ()] == ["/lines/0/sku"]
    else:
        raise AssertionError("an unknown poster was ordered")


if __name__ == "__main__":
    {"cancel": cancel, "order": order}[sys.argv[1]]()
