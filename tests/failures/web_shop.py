"""The shop's web as real processes, and a client that places and cancels orders over REST."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from orders.models import ApiToken
from tests.support.order_bodies import order_body
from tests.support.people import token_of
from tests.support.system import System, database_url
from tests.support.wait import until
from tests.web.helpers import ORDERS
from tests.web.server import Answer, Server

DJANGO = {"Cookie": "theme=dark"}
"""Has Django answer, to which it makes no difference."""


class Shop:
    """Web servers, one after the other, and a client that posts orders with a key."""

    def __init__(self, system: System, folder: Path) -> None:
        self._system = system
        self._folder = folder
        self._servers: list[Server] = []
        self.token = self.new_token("poster")

    def new_token(self, account: str) -> str:
        """A token of this account, which is made if there is none. Its use has just been noted, as it mostly has."""
        user, _ = User.objects.get_or_create(username=account)
        token = token_of(user)
        ApiToken.objects.filter(user=user).update(last_used_at=timezone.now())
        return token

    def serve(self, url: str = "", *, port: int = 0, **env: str) -> Server:
        """Starts a web server, on any free port unless one is given, and waits until it answers."""
        server = Server(
            self._folder / f"web-{len(self._servers)}.log",
            database_url=url or database_url(),
            port=port,
            SECRET_KEY=self._system.environment["SECRET_KEY"],
            VAR_DIR=str(self._folder),
            **env,
        )
        self._servers.append(server)
        until(server.answers, what="the web server")
        return server

    def post(
        self,
        server: Server,
        key: str,
        *,
        token: str = "",
        is_alone: bool = False,
        traceparent: str = "",
        **changes: Any,
    ) -> Answer:
        """Posts one order with a key. It is placed together with others, or alone, by Django."""
        headers = self._headers(token) | {"Idempotency-Key": key} | (DJANGO if is_alone else {})
        headers |= {"traceparent": traceparent} if traceparent else {}
        body = json.dumps(self._order(**changes)).encode()
        return server.request("POST", ORDERS, body=body, headers=headers, timeout=90)

    def post_batch(self, server: Server, keys: Iterable[str]) -> Answer:
        """Posts an order for each of these keys, all at once."""
        batch = {"orders": [{"idempotency_key": key, "order": self._order()} for key in keys]}
        body = json.dumps(batch).encode()
        return server.request("POST", f"{ORDERS}/batch", body=body, headers=self._headers(), timeout=90)

    def _order(self, **changes: Any) -> dict[str, Any]:
        return order_body(lines=[{"sku": self._system.sku, "quantity": 1}], **changes)

    def _headers(self, token: str = "") -> dict[str, str]:
        return {"Authorization": f"Token {token or self.token}", "Content-Type": "application/json"}

    def cancel(self, server: Server, order_id: str) -> Answer:
        """Cancels an order."""
        headers = {"Authorization": f"Token {self.token}"}
        return server.request("POST", f"{ORDERS}/{order_id}/cancel", headers=headers, timeout=90)

    def end(self) -> None:
        """Ends every server."""
        for server in self._servers:
            server.end()
