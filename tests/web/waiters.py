"""Clients of the API that wait on the real server: they send a request, and read the answer when they are asked to."""

import http.client
import select
from collections.abc import Mapping

from tests.support.wait import until
from tests.web.server import Answer, Server


class Waiter:
    """One request whose answer may be long in coming."""

    def __init__(
        self,
        server: Server,
        path: str,
        token: str,
        *,
        source: str = "127.0.0.1",
        method: str = "GET",
        body: bytes | None = None,
        **headers: str,
    ) -> None:
        self._client = http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=60, source_address=(source, 0)
        )
        names: Mapping[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
        self._client.request(method, path, body=body, headers={"Authorization": f"Token {token}", **names})

    def is_answered(self) -> bool:
        """Whether the answer, or the end of the connection, has come."""
        return bool(select.select([self._client.sock], [], [], 0)[0])

    def answer(self, *, seconds: float = 60.0) -> Answer:
        """Reads the answer."""
        self._client.sock.settimeout(seconds)
        response = self._client.getresponse()
        answer = Answer(
            response.status, {name.lower(): text for name, text in response.getheaders()}, response.read()
        )
        self._client.close()
        return answer

    def leave(self) -> None:
        """Closes the connection."""
        self._client.close()


def held(server: Server) -> tuple[int, int]:
    """How many waits and how many streams the server holds."""
    waits, streams = server.request("GET", "/held").body.split()
    return int(waits), int(streams)


def until_held(server: Server, waits: int = 0, streams: int = 0) -> None:
    """Waits until the server holds exactly this many."""
    until(lambda: held(server) == (waits, streams), what=f"{waits} waits and {streams} streams that are held")
