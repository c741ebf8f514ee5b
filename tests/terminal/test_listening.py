"""What `listen` posts is what the server's own webhook posts, in the same order, and once it is taken."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from sasweb.terminal.errors import RefusedError
from sasweb.terminal.forwarding import Forwarder, Message
from sasweb.webhook_signatures import read_secret, signed_headers, write_secret
from tests.support.client_webhooks import SECRET, happen, make_endpoint, order_of, send_until
from tests.support.wait import until
from tests.support.webhook import LOOPBACK, Webhook, webhook
from tests.terminal.command import Running, Terminal


def listen(terminal: Terminal, receiver: Webhook, *arguments: Any) -> Running:
    """Starts to forward, and waits until it does."""
    listening = terminal.start("listen", "--forward-to", receiver.url, *arguments)
    listening.until_says("Ready.")
    return listening


def sent(headers: Mapping[str, str]) -> dict[str, str]:
    """Those headers of a message that do not depend on the moment."""
    moment = {"webhook-timestamp", "webhook-signature", "host", "connection", "accept"}
    return {name: value for name, value in headers.items() if name not in moment}


def assert_signed(receiver: Webhook, secret: bytes) -> None:
    """Each message has the signature that this secret gives it."""
    for headers, body in zip(receiver.headers, receiver.bodies, strict=True):
        timestamp = int(headers["webhook-timestamp"])
        expected = signed_headers(
            headers["webhook-id"], body=body, timestamp=timestamp, signing_secrets=[secret]
        )
        assert expected.items() <= headers.items()


@pytest.mark.pattern("O1")
def test_messages_are_byte_for_byte_those_of_the_servers_webhook(
    terminal: Terminal, ada: User, settings: Any
) -> None:
    settings.CONFIG = replace(settings.CONFIG, client_webhook_networks=LOOPBACK)
    cursor = terminal.run("changes", "--after", "latest").err.strip().partition("--after=")[2]
    order_ids = [order_of(ada), order_of(ada)]
    with webhook() as own, webhook() as forwarded:
        make_endpoint(ada, own.url)
        for step in ("reserve-stock", "ein Schritt – 步"):
            happen(*order_ids, step=step)
        send_until(lambda: len(own.received) == 4, what="the server's messages")
        listening = listen(terminal, forwarded, f"--after={cursor}", "--secret", write_secret(SECRET))
        until(lambda: len(forwarded.received) == 4, what="the forwarded messages")
        ran = listening.interrupt()
    assert ran.status == 130
    of_server, of_terminal = (
        {
            headers["webhook-id"]: (sent(headers), body)
            for headers, body in zip(hook.headers, hook.bodies, strict=True)
        }
        for hook in (own, forwarded)
    )
    assert len(of_server) == 4
    assert of_terminal == of_server
    assert_signed(own, SECRET)
    assert_signed(forwarded, SECRET)


def test_a_receiver_that_refuses_twice_gets_each_orders_messages_in_order(
    terminal: Terminal, ada: User
) -> None:
    """Nothing that comes after the refused message of an order is sent before it is taken."""
    order_ids = [order_of(ada), order_of(ada)]
    attempts: dict[str, list[int]] = defaultdict(list)
    statuses: list[int] = []

    def refuse_the_first_twice(message: Mapping[str, Any]) -> int:
        order_id, number = message["data"]["order_id"], message["data"]["id"]
        attempts[order_id].append(number)
        is_first = order_id == str(order_ids[0]) and set(attempts[order_id]) == {number}
        statuses.append(503 if is_first and len(attempts[order_id]) <= 2 else 204)
        return statuses[-1]

    with webhook() as receiver:
        receiver.decide = refuse_the_first_twice
        listening = listen(terminal, receiver)
        secret = read_secret(listening.err.partition("Signing secret: ")[2].split()[0])
        for _ in range(3):
            happen(*order_ids)
        until(lambda: statuses.count(204) == 6, what="six messages that were taken")
        listening.until_says("again in")
        ran = listening.interrupt()
    assert_signed(receiver, secret)
    refused, other = (attempts[str(order_id)] for order_id in order_ids)
    assert refused[0] == refused[1] == refused[2]
    assert refused[2:] == sorted(set(refused)) and len(set(refused)) == 3
    assert other == sorted(set(other)) and len(other) == 3
    assert sum(line.startswith("503") for line in ran.lines) == 2


@pytest.mark.parametrize("status", [410, 500])
def test_a_message_that_was_not_taken_is_sent_from_the_cursor_that_it_leaves(
    terminal: Terminal, ada: User, status: int
) -> None:
    """Also if another order's message was taken after it. A receiver that wants no more ends it."""
    order_ids = [order_of(ada), order_of(ada)]

    def refuse_the_first(message: Mapping[str, Any]) -> int:
        return status if message["data"]["order_id"] == str(order_ids[0]) else 204

    with webhook() as receiver:
        receiver.decide = refuse_the_first
        listening = listen(terminal, receiver)
        happen(*order_ids)
        if status == 410:
            ran = listening.end()
            assert ran.status == 1 and "at which the server would disable the webhook" in ran.err
        else:
            until(
                lambda: listening.out.count("again in") == 2 and "204" in listening.out, what="two refusals"
            )
            ran = listening.interrupt()
        receiver.decide = None
        received = len(receiver.received)
        cursor = ran.err.partition("--after=")[2].split()[0]
        again = listen(terminal, receiver, f"--after={cursor}")
        until(lambda: len(receiver.received) == received + 2, what="the messages that were not taken")
        assert again.interrupt().status == 130
    assert receiver.bodies[0] == receiver.bodies[received]


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def change(number: int, order_id: str) -> dict[str, Any]:
    return {"id": number, "at": "2030-01-01T12:00:00Z", "kind": "step_started", "order_id": order_id}


def numbers(messages: Sequence[Message]) -> list[int]:
    return [json.loads(message.body)["data"]["id"] for message in messages]


def test_orders_do_not_wait_for_one_that_is_refused() -> None:
    calls: list[Message] = []

    def refuse_the_first(message: Message) -> tuple[int, str]:
        calls.append(message)
        return (0, "no connection") if message.number == 1 and len(calls) < 6 else (200, "")

    clock = Clock()
    forwarder = Forwarder(refuse_the_first, clock=clock)
    assert forwarder.rest() == 30
    forwarder.add([change(1, "a"), change(2, "a"), change(3, "b"), change(4, "b")])
    for _ in range(3):
        forwarder.post_due()
    assert numbers(calls) == [1, 3, 4]
    assert (forwarder.pending, 0.5 <= forwarder.rest() <= 1) == (2, True)
    for waits in ((1, 2), (2, 4)):
        clock.now += forwarder.rest()
        forwarder.post_due()
        assert waits[0] <= forwarder.rest() <= waits[1]
    clock.now += 30
    forwarder.post_due()
    assert numbers(calls) == [1, 3, 4, 1, 1, 1, 2]
    assert forwarder.pending == 0


def test_a_message_that_is_gone_for_the_receiver_stays_pending() -> None:
    forwarder = Forwarder(lambda _: (410, ""))
    forwarder.add([change(1, "a")])
    with pytest.raises(RefusedError):
        forwarder.post_due()
    assert forwarder.pending == 1
