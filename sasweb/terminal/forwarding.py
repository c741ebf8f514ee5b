"""`bin/sasweb listen`: posts each change to a url as the server's own webhook would, for whoever writes a receiver.

The messages are those of `orders.webhooks`: the same bodies, ids and signatures. Each order's come in order, each after
the one before it was taken, and other orders do not wait for one that is refused. One message is sent at a time.
"""

import http.client
import json
import math
import random
import time
import urllib.error
import urllib.request
from argparse import Namespace
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sasweb.terminal.changes import WAIT, read_page
from sasweb.terminal.errors import RefusedError
from sasweb.terminal.output import note, show
from sasweb.terminal.resuming import is_of_cursor, note_resuming
from sasweb.terminal.server import LOST, NoRedirect, Server, reason_of
from sasweb.webhook_signatures import make_secret, signed_headers, write_secret

TIMEOUT = 15.0
"""Seconds that a receiver has, as for the server."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""In seconds: the wait after the first refusal of a message, which doubles with each, and the longest after any. The
server waits longer, but nobody sits before it."""
MOST_PENDING = 1_000
"""Messages that wait for a receiver until no more of the feed is read."""
GONE = 410
"""The status with which a receiver says that it wants no more."""


@dataclass(kw_only=True)
class Message:
    """A message about a change. `due` is when to send it, by the clock of this process."""

    number: int
    message_id: str
    kind: str
    order_id: str
    body: bytes
    refusals: int = 0
    due: float = 0.0


class Receiver:
    """The url to which messages are posted, and the secret that signs them."""

    def __init__(self, url: str, secret: bytes) -> None:
        self._url = url
        self._secret = secret
        # No proxy of the environment: it would not lead to this machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)

    def post(self, message: Message) -> tuple[int, str]:
        """Posts the message once. Returns the status, or 0 and why there is none."""
        signed = signed_headers(
            message.message_id,
            body=message.body,
            timestamp=int(time.time()),
            signing_secrets=[self._secret],
        )
        headers = {"Content-Type": "application/json", "User-Agent": "sasweb", **signed}
        request = urllib.request.Request(self._url, data=message.body, headers=headers, method="POST")
        try:
            response: http.client.HTTPResponse = self._opener.open(request, timeout=TIMEOUT)
            with response:
                return response.status, ""
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, ""
        except LOST as error:
            return 0, reason_of(error)


class Forwarder:
    """The messages that a receiver has not taken yet."""

    def __init__(
        self, post: Callable[[Message], tuple[int, str]], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._post = post
        self._clock = clock
        self._of_order: dict[str, deque[Message]] = defaultdict(deque)
        self._number = 0

    @property
    def pending(self) -> int:
        """How many messages there are."""
        return sum(len(messages) for messages in self._of_order.values())

    def add(self, changes: Iterable[Mapping[str, Any]]) -> None:
        """Adds a message about each change."""
        for change in changes:
            self._number += 1
            self._of_order[change["order_id"]].append(message_about(change, self._number))

    def rest(self) -> float:
        """In how many seconds a message is due; the longest wait of the feed if there is none."""
        now = self._clock()
        return max(0.0, min((message.due - now for message in self._first()), default=float(WAIT)))

    def post_due(self) -> None:
        """Posts what is due, in the order of the feed, until nothing is or one is refused. Raises `RefusedError` if the
        receiver wants no more."""
        while message := self._next():
            if not self._deliver(message):
                return

    def _first(self) -> list[Message]:
        """The first message of each order: the only one that may be sent."""
        return [messages[0] for messages in self._of_order.values()]

    def _next(self) -> Message | None:
        now = self._clock()
        due = (message for message in self._first() if message.due <= now)
        return min(due, key=lambda message: message.number, default=None)

    def _deliver(self, message: Message) -> bool:
        """Posts a message, and says whether it was taken. One that was not is due again later."""
        status, reason = self._post(message)
        line = f"{status or '---'}  {message.message_id}  {message.kind}  {message.order_id}"
        if 200 <= status < 300:
            show(line)
            messages = self._of_order[message.order_id]
            messages.popleft()
            if not messages:
                del self._of_order[message.order_id]
            return True
        if status == GONE:
            show(line)
            raise RefusedError("The receiver answered 410, at which the server would disable the webhook.")
        wait = random.uniform(0.5, 1) * min(LONGEST_WAIT, FIRST_WAIT * 2**message.refusals)
        message.refusals += 1
        message.due = self._clock() + wait
        show(f"{line}  {reason}{', ' if reason else ''}again in {wait:.1f} s")
        return False


def message_about(change: Mapping[str, Any], number: int) -> Message:
    """The message that the server makes of this change (`orders.webhooks.fan_out`)."""
    kind = f"order.{change['kind']}"
    body = {"type": kind, "timestamp": change["at"], "data": change}
    return Message(
        number=number,
        message_id=f"evt_{change['id']}_{datetime.fromisoformat(change['at']):%Y%m%d%H%M%S%f}",
        kind=kind,
        order_id=change["order_id"],
        body=json.dumps(body, ensure_ascii=False).encode(),
    )


def listen(server: Server, arguments: Namespace) -> int:
    """Forwards every change from now on, or after a cursor, until it is stopped. However it ends, it says where to go
    on: before the first message that was not taken, with the same secret, unless the server
    refuses the cursor."""
    secret = arguments.secret or make_secret()
    forwarder = Forwarder(Receiver(arguments.forward_to, secret).post)
    page = read_page(server, arguments.after, wait=0).json
    done = page["cursor"] if arguments.after == "latest" else arguments.after
    written_secret = write_secret(secret)
    note(f"Signing secret: {written_secret}")
    note(f"Ready. Changes of your orders are posted to {arguments.forward_to}.")
    try:
        while True:
            forwarder.add(page["results"])
            cursor = page["cursor"]
            forwarder.post_due()
            while forwarder.pending >= MOST_PENDING:
                time.sleep(forwarder.rest())
                forwarder.post_due()
            done = done if forwarder.pending else cursor
            page = read_page(server, cursor, wait=math.ceil(forwarder.rest())).json
    except RefusedError as error:
        if is_of_cursor(error):
            done = ""
        raise
    finally:
        if done:
            note_resuming(arguments.argv, done, *([] if arguments.secret else [f"--secret={written_secret}"]))
