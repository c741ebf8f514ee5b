"""The tests of the contract about effects: one for each key, compensated in any order, and truly reported."""

import contextlib
from dataclasses import replace

from orders.engine.contracts import Agent, Done, NotDone, Request
from orders.engine.errors import Fault, Refused
from orders.engine.results import find_gaps, say_gaps, types_of
from orders.testing.basis import ContractBasis, check_limits, one_try, title


class EffectTests(ContractBasis):
    """One effect for each key, whatever comes first, twice or never."""

    def test_the_agent_declares_its_limits(self) -> None:
        """An agent has a name, a capacity and a call timeout, and offers the operation that is tested."""
        agent = self.run(_itself)
        check_limits(agent)
        operations = getattr(agent, "operations", {self.operation})
        assert self.operation in operations, f"`operations` does not name {self.operation!r}"

    def test_the_same_key_twice_is_one_effect(self) -> None:
        """A call that is repeated with its key, by another process, has no further effect and the same answer."""
        request = self.make_request()
        first = self.call(request)
        second = self.call(replace(request, attempt=2))
        assert self.count(request) == 1, f"two calls with one key had {self.count(request)} effects, not 1"
        assert first == second, f"the repeated call returned {second!r:.200}, the first one {first!r:.200}"

    def test_another_key_is_another_effect(self) -> None:
        """Two orders are two effects, each under its own key."""
        first, second = self.make_request(), self.make_request()
        self.call(first)
        self.call(second)
        numbers = (self.count(first), self.count(second))
        assert numbers == (1, 1), f"two calls with a key each had {numbers} effects, not (1, 1)"

    def test_a_result_can_be_stored(self) -> None:
        """What the agent returns is a mapping that the database keeps as JSON, of at most 64 KB. What `perform` returns
        holds `result_fields`."""
        for request in self.directions():
            result = self.call(request)
            gaps = {} if request.compensates else find_gaps(result, types_of(self.result_fields))
            assert not gaps, f"{title(request)} returned an incomplete result: {say_gaps(gaps)}"

    def test_a_compensation_reverses_the_effect(self) -> None:
        """After `perform`, `compensate` takes the effect back."""
        request = self.make_request()
        reversal = self.reversal_of(request)
        self.call(request)
        self.call(reversal)
        assert self.count(request) == 1, "the compensation repeated the effect"
        assert self.count(reversal) == 1, f"the compensation had {self.count(reversal)} effects, not 1"

    def test_a_compensation_twice_is_one(self) -> None:
        """A compensation that is repeated with its key takes nothing back a second time."""
        request = self.make_request()
        reversal = self.reversal_of(request)
        self.call(request)
        first, second = self.call(reversal), self.call(replace(reversal, attempt=3))
        assert self.count(reversal) == 1, f"two compensations had {self.count(reversal)} effects, not 1"
        assert first == second, f"the repeated one returned {second!r:.200}, the first one {first!r:.200}"

    def test_a_compensation_of_a_call_that_never_arrived_succeeds(self) -> None:
        """`compensate` succeeds if there is nothing to take back: the call may have been lost on its way."""
        request = self.make_request()
        self.call(self.reversal_of(request))
        assert self.count(request) == 0, "the compensation had the effect that it should reverse"

    def test_a_compensation_before_the_call_keeps_it_from_happening(self) -> None:
        """A call that arrives after its compensation has no effect. The agent may fail or return, as it likes."""
        request = self.make_request()
        self.call(self.reversal_of(request))
        with contextlib.suppress(Fault):
            self.call(request)
        assert self.count(request) == 0, "a call had its effect although it had been compensated before"

    def test_an_unknown_operation_is_refused(self) -> None:
        """An operation of another release is `Refused`, forward and backward, and nothing happens."""
        for offered in self.directions():
            request = replace(offered, operation="an-operation-of-another-release")
            fault = self.fault_of(request, when="an unknown operation")
            assert type(fault) is Refused, f"{title(request)} raised {fault!r}, not Refused"
            assert self.count(request) == 0, f"{title(request)} had an effect"

    def test_closing_twice_is_harmless(self) -> None:
        """`close` may be called again, and without any call before it."""

        async def close(agent: Agent) -> None:
            await agent.close()

        async def call_and_close(agent: Agent) -> None:
            await one_try(agent, self.make_request())
            await agent.close()

        self.run(close)
        self.run(call_and_close)

    def test_an_inquiry_finds_what_has_been_done(self) -> None:
        """`inquire` says `NotDone` before a call, `Done` with the call's own result after it, and changes nothing."""
        self._check_inquiries(self.make_request(), earlier=[])

    def test_an_inquiry_finds_what_has_been_compensated(self) -> None:
        """`inquire` says the same of a compensation: `NotDone` before it, `Done` with its result after it."""
        request = self.make_request()
        self._check_inquiries(self.reversal_of(request), earlier=[request])

    def _check_inquiries(self, request: Request, *, earlier: list[Request]) -> None:
        self.inquire(request)  # skips the test of an agent that cannot be asked, before anything is done
        for previous in earlier:
            self.call(previous)
        finding = self.inquire(request)
        assert finding == NotDone(), f"before {title(request)} it says {finding!r:.200}, not NotDone"
        assert self.count(request) == 0, "the inquiry itself had an effect"
        result = self.call(request)
        finding = self.inquire(request)
        assert finding == Done(result=result), (
            f"after {title(request)} it says {finding!r:.200}, not {result!r}"
        )
        assert self.count(request) == 1, "the inquiry itself had an effect"


async def _itself(agent: Agent) -> Agent:
    return agent
