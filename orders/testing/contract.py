"""The contract between the engine and an agent, as tests."""

from orders.testing.cancelling import CancellationTests
from orders.testing.effects import EffectTests
from orders.testing.faults import FaultTests
from orders.testing.rehearsing import RehearsalTests


class AgentContract(FaultTests, CancellationTests, EffectTests, RehearsalTests):
    '''Tests that an agent keeps what the engine relies on. Subclass it, and pytest runs them against your agent.

    Say which operation is tested, and write three methods: one makes the agent, one its stand-in service, and one lists
    the effects that the stand-in has had. That is all of this file but the agent and the stand-in:

        from aiohttp import web

        from orders.agents import CALL_TIMEOUT, Json, Rehearsal, Remote, Request, rehearse, unknown_operation
        from orders.testing import AgentContract


        class Rooms:
            """The agent of a service that books rooms."""

            name = "rooms"
            capacity = 100
            call_timeout = CALL_TIMEOUT
            operations = frozenset({"book"})

            def __init__(self, url: str) -> None:
                self._remote = Remote(url, timeout=self.call_timeout)

            async def perform(self, request: Request) -> Json:
                if request.operation != "book":
                    raise unknown_operation(request)
                return await self._remote.post("book", key=request.key, body=request.data)

            async def compensate(self, request: Request) -> Json:
                if request.operation != "book":
                    raise unknown_operation(request)
                body = {"reverses": request.reverses}
                return await self._remote.post("release", key=request.key, body=body)

            async def rehearse(self, request: Request) -> Rehearsal:
                return await rehearse(self, request)

            async def close(self) -> None:
                await self._remote.close()


        class Bookings:
            """The stand-in: it answers a known key with its first answer, and releases what was booked, or bars it."""

            def __init__(self) -> None:
                self.effects: list[str] = []
                self.answers: dict[str, dict[str, str]] = {}
                self.barred: set[str] = set()
                self.app = web.Application()
                self.app.router.add_post("/book", self.book)
                self.app.router.add_post("/release", self.release)

            async def book(self, request: web.Request) -> web.Response:
                key = request.headers["Idempotency-Key"]
                if key in self.barred:
                    return web.json_response({"error": {"code": "released"}}, status=410)
                if key not in self.answers:
                    self.effects.append(key)
                    self.answers[key] = {"booking": f"B{len(self.effects)}"}
                return web.json_response(self.answers[key])

            async def release(self, request: web.Request) -> web.Response:
                key, forward = request.headers["Idempotency-Key"], (await request.json())["reverses"]
                if forward in self.answers and forward not in self.barred:
                    self.effects.append(key)
                self.barred.add(forward)
                return web.json_response({"released": True})


        class TestRooms(AgentContract):
            operation = "book"
            data = {"room": 7}

            def make_agent(self, url: str) -> Rooms:
                return Rooms(url)

            def make_service(self) -> web.Application:
                self.bookings = Bookings()
                return self.bookings.app

            def effects(self) -> list[str]:
                return self.bookings.effects

    What else can be declared:

    | name | says | without it |
    |---|---|---|
    | `step` | the name of the step | the operation |
    | `data`, `results` | what the request carries | nothing |
    | `result_fields` | what the answer must hold, as the step declares in its `result` | nothing |
    | `make_request()` | returns a request of a new order, if these do not suffice | |
    | `service` | a fixture in place of `make_service`; `make_service` may also return a url | |
    | `can_compensate` | False if no step of the agent is reversed | True |
    | `faults` | which fault is right for which status, as in `{**AgentContract.faults, 404: Refused}` | as `Remote` |
    | `speaks_http` | False for another protocol: the tests that need HTTP are skipped | True |
    | `left_out` | tests that cannot hold, and why, as in `{"test_…": "mail has no keys"}`; they are skipped | none |

    Between the agent and its service is a `StandIn`, as `self.stand_in`, which cuts connections and answers with
    errors. If the agent has `inquire` or `rehearse`, that is tested, too. Tests of your own have `self.call(request)`,
    `self.fault_of(request, when=…)`, `self.inquire(request)`, `self.reversal_of(request)`, `self.count(request)`.
    '''
