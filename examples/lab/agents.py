"""The laboratory's remote services, and their settings. Each is the stand-in unless the environment names another."""

from collections.abc import Sequence

from orders.agents import (
    CALL_TIMEOUT,
    Agent,
    Json,
    Pending,
    Rehearsal,
    Remote,
    Request,
    rehearse,
    unknown_operation,
)
from orders.business import Environment

STANDIN = "127.0.0.1:9100"
ANALYSED_WITHIN = 86_400.0
"""Seconds that an analysis may take. After that the step has timed out, and is sent again with the same key."""


def agents(environment: Environment) -> Sequence[Agent]:
    """Makes the laboratory's agents."""
    standin = environment.host_port("LAB_STANDIN_BIND", STANDIN)
    token = environment.token("LAB_TOKEN")
    return [
        Instruments(environment.url("LAB_INSTRUMENTS_URL", f"http://{standin}/instruments"), token=token),
        Analyses(
            environment.url("LAB_ANALYSES_URL", f"http://{standin}/analyses"),
            token=token,
            own_url=environment.public_url(),
            poll_after=environment.number("LAB_POLL_AFTER", 60.0, lowest=1, highest=ANALYSED_WITHIN),
        ),
        Reports(environment.url("LAB_REPORTS_URL", f"http://{standin}/reports"), token=token),
    ]


class LabService:
    """What the agents have in common: a service at `url` that does one thing, and takes it back."""

    name: str
    operation: str
    reversal: str
    capacity = 50
    call_timeout = CALL_TIMEOUT

    def __init__(self, url: str, *, token: str = "") -> None:
        self.operations = frozenset({self.operation})
        self._remote = Remote(url, timeout=self.call_timeout, token=token)

    async def perform(self, request: Request) -> Json | Pending:
        """Does it, once for each key."""
        self._check(request)
        return self.read(await self._remote.post(self.operation, key=request.key, body=self.body(request)))

    async def compensate(self, request: Request) -> Json:
        """Takes it back, or makes sure that it can no longer happen."""
        self._check(request)
        return await self._remote.post(self.reversal, key=request.key, body={"reverses": request.reverses})

    async def rehearse(self, request: Request) -> Rehearsal:
        """Says what it would send."""
        return await rehearse(self, request)

    def body(self, request: Request) -> Json:
        """What the service is told."""
        return request.data

    def read(self, answer: Json) -> Json | Pending:
        """What its answer means."""
        return answer

    async def close(self) -> None:
        """Closes the connections."""
        await self._remote.close()

    def _check(self, request: Request) -> None:
        if request.operation != self.operation:
            raise unknown_operation(request)


class Instruments(LabService):
    """Books an instrument for a sample, and cancels the booking."""

    name, operation, reversal = "instruments", "book", "cancel"


class Analyses(LabService):
    """Has a sample analysed, and voids the analysis.

    A fast instrument answers at once. A slow one takes a job, and answers later by calling `own_url` back. That call
    may be lost, so it is also asked every `poll_after` seconds: the same call again, with the same key.
    """

    name, operation, reversal = "analyses", "analyse", "void"

    def __init__(self, url: str, *, own_url: str, poll_after: float, token: str = "") -> None:
        super().__init__(url, token=token)
        self._own_url = own_url
        self._poll_after = poll_after

    def body(self, request: Request) -> Json:
        """With the booking that it is done on, and where to answer later."""
        (booking,) = request.results.values()
        answer_to = f"{self._own_url}/callbacks/{request.callback_token}"
        return {**request.data, "booking": booking["reference"], "answer_to": answer_to}

    def read(self, answer: Json) -> Json | Pending:
        """What was found, or that the answer comes later."""
        if "job" not in answer:
            return answer
        return Pending(reference=str(answer["job"]), within=ANALYSED_WITHIN, poll_after=self._poll_after)


class Reports(LabService):
    """Publishes a sample's report, and withdraws it."""

    name, operation, reversal = "reports", "publish", "withdraw"

    def body(self, request: Request) -> Json:
        """The report says what was found, and who has accepted it."""
        results = dict(request.results)
        reviewer = results.pop("review")["by"]
        findings = {name: result["finding"] for name, result in results.items()}
        return {**request.data, "findings": findings, "accepted_by": reviewer}
