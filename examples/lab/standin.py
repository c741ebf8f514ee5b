"""Stands in for the laboratory's remote services: `python -m examples.lab.standin`.

It keeps everything in memory. The same key gets the same answer again, and happens once; what has been taken back, or
barred before it came, can no longer happen. The spectrometer takes its time: it answers with a job, and calls back when
it has a result. `GET /ledger` lists every effect, newest last.
"""

import asyncio
import os
from dataclasses import asdict, dataclass
from typing import Any

import aiohttp
from aiohttp import web

from examples.lab.agents import STANDIN

OPERATIONS = {
    "instruments": ("book", "cancel"),
    "analyses": ("analyse", "void"),
    "reports": ("publish", "withdraw"),
}
"""What each service does, and how it takes that back."""
SLOW = "spectrometer"
"""The instrument that answers later."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Something that happened. A key ends in `/undo` if it took something back."""

    service: str
    operation: str
    key: str
    details: dict[str, Any]


class Laboratory:
    """The services as one aiohttp application, `app`. With a token it refuses calls that do not carry it.

    `seconds` is how long the slow instrument takes. `callbacks` has the status that each of its calls was answered
    with, or 0 if nobody was there.
    """

    def __init__(self, token: str = "", *, seconds: float = 0.0) -> None:
        self.ledger: list[Effect] = []
        self.callbacks: list[int] = []
        self.seconds = seconds
        self._token = token
        self._answers: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._barred: set[str] = set()
        self._at_work: set[asyncio.Task[None]] = set()
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
        answer_to = body.pop("answer_to", "")
        if key in self._barred:
            return _error(410, "taken_back")
        if key not in self._answers:
            is_reversal = operation == OPERATIONS[service][1]
            answer = self._reverse(body["reverses"]) if is_reversal else self._do(key, body, answer_to)
            if not is_reversal or answer["was_done"]:
                self.ledger.append(Effect(service=service, operation=operation, key=key, details=body))
            self._answers[key] = body, answer
        first_body, answer = self._answers[key]
        return web.json_response(answer) if body == first_body else _error(422, "idempotency_key_reused")

    def _do(self, key: str, body: dict[str, Any], answer_to: str) -> dict[str, Any]:
        number = len(self._answers) + 1
        if "method" not in body:
            return {"reference": f"L{number}"}
        if body["instrument"] != SLOW:
            return _found(body)
        task = asyncio.create_task(self._analyse(key, body, answer_to))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        return {"job": f"J{number}"}

    async def _analyse(self, key: str, body: dict[str, Any], answer_to: str) -> None:
        """Takes its time. From then on whoever asks with the key gets the result, and `answer_to` is called once."""
        await asyncio.sleep(self.seconds)
        if key in self._barred:
            return
        result = _found(body)
        self._answers[key] = body, result
        try:
            async with (
                aiohttp.ClientSession() as session,
                session.post(answer_to, json={"result": result}) as answer,
            ):
                self.callbacks.append(answer.status)
        except aiohttp.ClientError:
            self.callbacks.append(0)

    def _reverse(self, forward: str) -> dict[str, Any]:
        was_done = forward in self._answers and forward not in self._barred
        self._barred.add(forward)
        return {"was_done": was_done}


def _found(body: dict[str, Any]) -> dict[str, Any]:
    return {"finding": f"{body['sample']} by {body['method']}: nothing unusual"}


def _error(status: int, code: str) -> web.Response:
    return web.json_response({"error": {"code": code}}, status=status)


def main() -> None:
    """Serves at LAB_STANDIN_BIND until SIGINT or SIGTERM. The slow instrument takes LAB_ANALYSIS_SECONDS, or 10."""
    host, _, port = os.environ.get("LAB_STANDIN_BIND", STANDIN).rpartition(":")
    seconds = float(os.environ.get("LAB_ANALYSIS_SECONDS", "10"))
    web.run_app(Laboratory(os.environ.get("LAB_TOKEN", ""), seconds=seconds).app, host=host, port=int(port))


if __name__ == "__main__":
    main()
