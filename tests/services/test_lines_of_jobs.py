"""What jobs log while they send a message about an order, or act on it in a bulk action, has the order's id."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from structlog.contextvars import clear_contextvars
from uuid_utils.compat import uuid7

from orders.models import OutgoingMessage
from orders.outbox import queue
from orders.services.operators import bulk, bulk_runner
from orders.vocabulary import MessageKind
from tests.support.desk import OLGA, carry_on, failed_orders
from tests.support.log_lines import written_lines
from tests.support.ports import free_ports

pytestmark = pytest.mark.django_db(transaction=True)
log = logging.getLogger("a.library")


@pytest.fixture(autouse=True)
def no_context() -> None:
    """What an earlier test of this worker has bound, as a request does until its end, is bound no longer."""
    clear_contextvars()


def about(lines: Sequence[str], text: str) -> list[str]:
    return [line for line in lines if text in line]


def test_a_message_about_an_order_that_is_not_sent(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.CONFIG = replace(settings.CONFIG, email_url=f"smtp://127.0.0.1:{free_ports()}")
    compose = queue.COMPOSERS[MessageKind.ORDER_LINK]

    def compose_aloud(message: OutgoingMessage) -> Any:
        log.warning("composing")
        return compose(message)

    monkeypatch.setitem(queue.COMPOSERS, MessageKind.ORDER_LINK, compose_aloud)  # type: ignore[arg-type]
    order_id = uuid7()
    queue.post(kind=MessageKind.ORDER_LINK, recipient="ada@example.com", order_id=order_id)
    queue.post(kind=MessageKind.SIGN_UP, recipient="bob@example.com", arguments={"following": ""})
    with written_lines() as lines:
        queue.deliver_due()
    assert all(f"order_id={order_id}" in line for line in about(lines, "composing"))
    (of_sign_up,) = about(lines, "kind=sign_up")
    assert "order_id" not in of_sign_up
    assert about(lines, "composing") and about(lines, "kind=order_link")


def test_an_act_of_a_bulk_action(monkeypatch: pytest.MonkeyPatch) -> None:
    (order_id,), apply = failed_orders(1), bulk_runner._apply

    def apply_aloud(*arguments: Any) -> Any:
        log.warning("applying")
        return apply(*arguments)

    monkeypatch.setattr(bulk_runner, "_apply", apply_aloud)
    action = bulk.create(kind="resubmit", order_ids=[order_id], selection="one", actor=OLGA)
    with written_lines() as lines:
        carry_on(action)
    assert [f"order_id={order_id}" in line for line in about(lines, "applying")] == [True]
