"""Stands in for the laboratory's remote services: `python -m examples.lab.standin`.

It keeps everything in memory. The same key gets the first answer again, and happens once; what has been taken back, or
barred before it came, can no longer happen. `GET /ledger` lists every effect, newest last.
"""

import os
from dataclasses import asdict, dataclass
from typing import Any

from aiohttp import web

from examples.lab.agents import STANDIN

OPERATIONS = {"instruments": ("book", "cancel"), "reports": ("publish", "withdraw")}
"""What each service does, and how it takes that back."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Something that happened. A key ends in `/undo` if it took something back."""

    service: str
    operation: str
    key: str
    details: dict[str, Any]


class Laboratory:
    """The services as one aiohttp application, `app`. With a token it refuses calls that do not carry it."""

    def __init__(self, token: str = "") -> None:
        self.ledger: list[Effect] = []
        self._token = token
        self._answers: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._barred: set[str] = set()
        self.app = web.Application()
        self.app.router.add_get("/ledger", self._list)
        self.app.router.add_post("/{service}/{operation}", self._call)

    def keys(self, service: str) -> list[str]:
        """The key of each effect of a service, oldest first."""
        return [effect.key for effect in self.ledger if effect.service == service]

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response([asdict(effect) for effect in self.ledger])

    async def _call(self, request: web.Request) -> web.Response:
        service, operation = request.match_info["service"], request.match_info["operation"]
        if self._token and request.headers.get("Authorization") != f"Bearer {self._token}":
            return _error(401, "unknown_token")
        if operation not in OPERATIONS.get(service, ()):
            return _error(404, "unknown_operation")
        key, body = request.headers["Idempotency-Key"], await request.json()
        if key in self._barred:
            return _error(410, "taken_back")
        if key not in self._answers:
            is_reversal = operation == OPERATIONS[service][1]
            answer = self._reverse(body["reverses"]) if is_reversal else self._refer()
            if not is_reversal or answer["was_done"]:
                self.ledger.append(Effect(service=service, operation=operation, key=key, details=body))
            self._answers[key] = body, answer
        first_body, answer = self._answers[key]
        return web.json_response(answer) if body == first_body else _error(422, "idempotency_key_reused")

    def _refer(self) -> dict[str, Any]:
        return {"reference": f"L{len(self._answers) + 1}"}

    def _reverse(self, forward: str) -> dict[str, Any]:
        was_done = forward in self._answers and forward not in self._barred
        self._barred.add(forward)
        return {"was_done": was_done}


def _error(status: int, code: str) -> web.Response:
    return web.json_response({"error": {"code": code}}, status=status)


def main() -> None:
    """Serves at LAB_STANDIN_BIND until SIGINT or SIGTERM."""
    host, _, port = os.environ.get("LAB_STANDIN_BIND", STANDIN).rpartition(":")
    web.run_app(Laboratory(os.environ.get("LAB_TOKEN", "")).app, host=host, port=int(port))


if __name__ == "__main__":
    main()
