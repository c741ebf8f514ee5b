"""What the tests of the contract share: how an author declares her agent, and how its calls are made."""

import asyncio
import contextlib
import math
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn, TypeVar, cast

import pytest

from orders.engine.contracts import Agent, Finding, InquiringAgent, Json, Pending, Request, ResultField
from orders.engine.errors import Declined, Fault, Refused, Transient, Unresolved
from orders.engine.runtime.text import strict_json
from orders.testing.stand_in import BOUND, Service, StandIn

LARGEST_RESULT = 64 * 1024
"""Characters that a result may have as JSON."""
PAUSE = 0.02
"""Seconds between two tries of a call that is tried until it succeeds."""
SETTLED_WITHIN = 2.0
"""Seconds in which an agent must have put away what a call has left behind."""

FAULTS = (Transient, Refused, Declined, Unresolved)
Returned = TypeVar("Returned")


class ContractBasis:
    """The declarations that `AgentContract` explains, and calls of the agent that end in time."""

    operation: str
    step: str = ""
    data: Json = {}
    results: Mapping[str, Json] = {}
    result_fields: Sequence[ResultField] = ()
    speaks_http: bool = True
    can_compensate: bool = True
    faults: Mapping[int, type[Fault]] = {
        400: Refused,
        401: Unresolved,
        402: Declined,
        404: Unresolved,
        429: Transient,
        500: Transient,
        503: Transient,
    }
    left_out: Mapping[str, str] = {}

    url: str
    """Where the agent finds its service: the stand-in's url, or that of the service if it does not speak HTTP."""

    def make_agent(self, url: str) -> Agent:
        """Returns a new agent of the service at `url`. To be written by the author."""
        raise NotImplementedError("make_agent(url) returns a new agent of the service at url")

    def make_service(self) -> Service:
        """Returns a new stand-in service: an aiohttp application, or the url where one runs.

        To be written by the author, unless she overrides the fixture `service`, which can use other fixtures.
        """
        raise NotImplementedError("make_service() returns an aiohttp application, or the url of a service")

    def effects(self) -> list[str]:
        """Returns the key of every effect that the stand-in service has had, each as often as it had it.

        A compensation that took something back is an effect under its own key, which is the forward key with `/undo`
        at its end. To be written by the author.
        """
        raise NotImplementedError("effects() returns the keys under which the stand-in has had an effect")

    def make_request(self) -> Request:
        """Returns the first request of a new order: `operation` with `data` and `results`."""
        order_id, step = uuid.uuid4(), self.step or self.operation
        return Request(
            order_id=order_id,
            step=step,
            operation=self.operation,
            attempt=1,
            key=f"{order_id}/{step}/1",
            data=self.data,
            results=self.results,
            compensates=False,
            reverses="",
            seconds_left=30.0,
        )

    @pytest.fixture
    def service(self) -> Service:
        """The stand-in service of one test."""
        return self.make_service()

    @pytest.fixture(autouse=True)
    def _between(self, request: pytest.FixtureRequest, service: Service) -> Iterator[None]:
        """Puts a `StandIn` between the agent and its service, unless the test is left out."""
        for name in self.left_out:
            assert hasattr(self, name), f"left_out names {name!r}, which is no test of the contract"
        if reason := self.left_out.get(request.node.originalname):
            pytest.skip(reason)
        self._stand_in: StandIn | None = None
        if not self.speaks_http:
            assert isinstance(service, str), "a service that does not speak HTTP is given by its url"
            self.url = service
            yield
            return
        with StandIn(service) as self._stand_in:
            self.url = self._stand_in.url
            yield

    @property
    def stand_in(self) -> StandIn:
        """The stand-in between agent and service. A test that uses it is skipped for an agent without HTTP."""
        if self._stand_in is None:
            pytest.skip("the agent does not speak HTTP")
        return self._stand_in

    def reversal_of(self, request: Request) -> Request:
        """Returns the request that compensates this one. The test is skipped if the agent cannot compensate."""
        if not self.can_compensate:
            pytest.skip("the agent cannot compensate")
        return replace(request, attempt=2, key=f"{request.key}/undo", reverses=request.key, compensates=True)

    def directions(self) -> list[Request]:
        """A forward request of a new order, and one that compensates it if the agent can."""
        request = self.make_request()
        return [request, self.reversal_of(request)] if self.can_compensate else [request]

    def count(self, request: Request) -> int:
        """How many effects the service has had under this request's key, once it has done all its calls."""
        if self._stand_in is not None:
            self._stand_in.settle()
        return self.effects().count(request.key)

    def run(self, work: Callable[[Agent], Awaitable[Returned]], *, url: str = "") -> Returned:
        """Runs calls of a new agent to their end, closes it, and makes sure that nothing is left open."""

        async def bounded() -> Returned:
            agent = self.make_agent(url or self.url)
            try:
                async with asyncio.timeout(BOUND):
                    return await work(agent)
            except TimeoutError as error:
                raise AssertionError(f"the agent's calls had not succeeded after {BOUND:.0f} s") from error
            finally:
                await agent.close()
                await check_nothing_is_left()

        return asyncio.run(bounded())

    def call(self, request: Request, *, url: str = "") -> Json:
        """One try of a new agent, as its host makes it. Raises what the agent raises."""
        return self.run(lambda agent: one_try(agent, request), url=url)

    def inquire(self, request: Request) -> Finding:
        """Asks a new agent. The test is skipped for an agent that has no `inquire`."""

        async def work(agent: Agent) -> Finding:
            if not hasattr(agent, "inquire"):
                pytest.skip("the agent has no `inquire`")
            return await cast(InquiringAgent, agent).inquire(request)

        return self.run(work)

    def fault_of(self, request: Request, *, when: str, url: str = "") -> Fault:
        """The fault of one try that must fail. `when` says for the reader what the service does."""
        try:
            result = self.call(request, url=url)
        except Fault as fault:
            assert isinstance(fault, FAULTS), f"{when}: {title(request)} raised a bare {type(fault).__name__}"
            return fault
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the wrong one
            fail_for(error, when=when, request=request)
        raise AssertionError(f"{when}: {title(request)} returned {result!r:.200}, as if it had been done")


async def one_try(agent: Agent, request: Request) -> Json:
    """One try as the agent host makes it: bounded by the agent's own `call_timeout`, its result checked."""
    method = agent.compensate if request.compensates else agent.perform
    try:
        async with asyncio.timeout(agent.call_timeout):
            result = await method(request)
    except TimeoutError as error:
        raise Transient("no_answer", f"no answer within {agent.call_timeout} s") from error
    if isinstance(result, Pending):
        return {"pending": result.reference}
    check_storable(result, request)
    return result


async def try_until_done(agent: Agent, request: Request) -> Json:
    """Tries as the engine does: again after a transient fault, with the same key."""
    while True:
        with contextlib.suppress(Transient):
            return await one_try(agent, request)
        await asyncio.sleep(PAUSE)
        request = replace(request, attempt=request.attempt + 1)


async def check_nothing_is_left() -> None:
    """Raises `AssertionError` if tasks go on that the agent has started."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, others = await asyncio.wait(others, timeout=SETTLED_WITHIN)
    assert not others, f"the agent is closed, and has left {len(others)} tasks at work: {others!r:.300}"


def check_storable(result: Json, request: Request) -> None:
    """Raises `AssertionError` if the database cannot keep this result."""
    assert isinstance(result, Mapping), f"{title(request)} returned a {type(result).__name__}, not a mapping"
    try:
        text = strict_json(result)
    except (TypeError, ValueError, RecursionError) as error:
        raise AssertionError(f"{title(request)} returned what cannot be kept as JSON: {error}") from error
    assert len(text) <= LARGEST_RESULT, f"{title(request)} returned {len(text):,} characters of JSON"


def check_limits(agent: Agent) -> None:
    """Raises `AssertionError` if the agent does not declare its name and limits."""
    assert isinstance(agent.name, str) and agent.name, "`name` is the name by which steps call the agent"
    assert isinstance(agent.capacity, int) and agent.capacity > 0, "`capacity` is how many calls run at once"
    timeout = agent.call_timeout
    assert timeout > 0 and math.isfinite(timeout), "`call_timeout` is how many seconds one try may take"


def fail_for(error: Exception, *, when: str, request: Request) -> NoReturn:
    """Fails because of an exception that an agent must not raise."""
    raise AssertionError(
        f"{when}: {title(request)} raised {type(error).__name__}: {error!s:.200}. "
        "An agent raises Transient, Refused, Declined or Unresolved, and nothing else."
    ) from error


def title(request: Request) -> str:
    """Which method of the agent a request is for, to be read by people."""
    return "compensate" if request.compensates else "perform"
