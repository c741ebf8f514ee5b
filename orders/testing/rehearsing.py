"""The test of the contract about rehearsals: what an agent shows is what it sends."""

from typing import cast
from urllib.parse import urlsplit

import pytest

from orders.engine.contracts import Agent, Request
from orders.engine.rehearsals import Rehearsal, RehearsingAgent
from orders.testing.basis import ContractBasis, title


class RehearsalTests(ContractBasis):
    """An agent that has `rehearse` shows exactly what it would send, and sends nothing."""

    def test_a_rehearsal_shows_what_is_then_sent(self) -> None:
        """Method, path, headers and body are those of the call that follows. A header that is masked is there."""
        for request in self.directions():
            before = self.stand_in.calls
            shown = self.rehearse(request).call
            assert self.stand_in.calls == before, f"the rehearsal of {title(request)} has called the service"
            assert shown is not None, f"the rehearsal of {title(request)} shows nothing"
            self.call(request)
            sent = self.stand_in.received[before]
            url = urlsplit(shown.url)
            path = f"{url.path}?{url.query}" if url.query else url.path
            assert (shown.method, path, shown.body) == (sent.method, sent.path, sent.body)
            assert shown.headers.keys() == sent.headers.keys()
            differing = {name for name in sent.headers if shown.headers[name] != sent.headers[name]}
            assert differing <= set(shown.masked), (
                f"the headers {sorted(differing)} are not those that were sent"
            )

    def rehearse(self, request: Request) -> Rehearsal:
        """What a new agent would send. The test is skipped for an agent that has no `rehearse`."""

        async def work(agent: Agent) -> Rehearsal:
            if not hasattr(agent, "rehearse"):
                pytest.skip("the agent has no `rehearse`")
            return await cast(RehearsingAgent, agent).rehearse(request)

        return self.run(work)
