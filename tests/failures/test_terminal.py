"""An order's life from the terminal, in a whole system whose web dies between a request and its answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from orders.fields.order_numbers import spoken_number
from orders.models import SubmissionMessage
from tests.failures.web_shop import Shop
from tests.support.order_bodies import order_body
from tests.support.proxy import DatabaseProxy, Moment
from tests.support.system import System
from tests.support.wait import until
from tests.terminal.command import Terminal
from tests.web.server import Server


@pytest.fixture
def first(shop: Shop, proxy: DatabaseProxy) -> Server:
    """The web whose connections to the database can be cut."""
    return shop.serve(proxy.url)


@pytest.fixture
def terminal(system: System, shop: Shop, first: Server, tmp_path: Path) -> Iterator[Terminal]:
    """Somebody at a terminal, with an order in `order.json`."""
    body = order_body(lines=[{"sku": system.sku, "quantity": 1}], payment_method="card_declined")
    (tmp_path / "order.json").write_text(json.dumps(body))
    terminal = Terminal(f"http://127.0.0.1:{first.port}", shop.token, tmp_path)
    yield terminal
    terminal.end()


@pytest.mark.pattern("S1", "S3", "C10", "F1", "F2")
def test_an_order_whose_answer_is_lost_is_placed_once_and_can_be_paid_and_cancelled(
    system: System, shop: Shop, first: Server, proxy: DatabaseProxy, terminal: Terminal
) -> None:
    """The web is killed after the commit and before the answer. The command sends the order again with its key."""
    system.environment["CUSTOMER_WAIT"] = "600"
    stall = proxy.cut(Moment.STALL, "orders_submissionmessage")
    placing = terminal.start("orders", "place", "--file", "order.json", "--patience", "170")
    until(lambda: stall.stalled, what="a commit whose answer has not reached the web")
    first.end()
    placing.until_says("trying again")
    shop.serve(port=first.port)
    ran = placing.end()
    assert ran.status == 0, ran.err
    assert "An earlier request with this key has placed this order." in ran.err
    order_id = SubmissionMessage.objects.get().order_id
    assert ran.out == f"{order_id}  {spoken_number(order_id)}  pending\n"

    system.start_all()
    declined = terminal.run("orders", "follow", order_id, "--until", "customer")
    assert declined.status == 0 and "authorise-payment failed (card_declined)" in declined.lines[-1]
    paid = terminal.run("orders", "pay", order_id, "--payment-method", "card_ok")
    assert paid.status == 0, paid.err
    ran = terminal.run("orders", "follow", order_id)
    assert (ran.status, ran.lines[-1]) == (
        0,
        f"{order_id}  {spoken_number(order_id)}  processed, 5 of 5 steps completed",
    )
    late = terminal.run("orders", "cancel", order_id)
    assert late.status == 1 and "409 cannot_be_cancelled" in late.err

    other = terminal.run("orders", "place", "--file", "order.json", "--follow", "--until", "customer")
    assert other.status == 0, other.err
    other_id = other.out.split()[0]
    assert terminal.run("orders", "cancel", other_id).status == 0
    ended = terminal.run("orders", "follow", other_id, "--until", "compensated")
    assert ended.status == 0 and "  compensated, " in ended.lines[-1]
    system.acknowledged = [order_id, UUID(other_id)]
    assert system.wait_until_ended() == ["compensated", "processed"]
    system.check()
