"""The laboratory's remote services, and their settings. Each is the stand-in unless the environment names another."""

from collections.abc import Sequence

from orders.agents import CALL_TIMEOUT, Agent, Json, Remote, Request, unknown_operation
from orders.business import Environment

STANDIN = "127.0.0.1:9100"


def agents(environment: Environment) -> Sequence[Agent]:
    """Makes the laboratory's agents."""
    standin = environment.host_port("LAB_STANDIN_BIND", STANDIN)
    token = environment.token("LAB_TOKEN")
    return [
        Instruments(environment.url("LAB_INSTRUMENTS_URL", f"http://{standin}/instruments"), token=token),
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

    async def perform(self, request: Request) -> Json:
        """Does it, once for each key."""
        self._check(request)
        return await self._remote.post(self.operation, key=request.key, body=self.body(request))

    async def compensate(self, request: Request) -> Json:
        """Takes it back, or makes sure that it can no longer happen."""
        self._check(request)
        return await self._remote.post(self.reversal, key=request.key, body={"reverses": request.reverses})

    def body(self, request: Request) -> Json:
        """What the service is told."""
        return request.data

    async def close(self) -> None:
        """Closes the connections."""
        await self._remote.close()

    def _check(self, request: Request) -> None:
        if request.operation != self.operation:
            raise unknown_operation(request)


class Instruments(LabService):
    """Books an instrument for a sample, and cancels the booking."""

    name, operation, reversal = "instruments", "book", "cancel"


class Reports(LabService):
    """Publishes a sample's report, and withdraws it."""

    name, operation, reversal = "reports", "publish", "withdraw"

    def body(self, request: Request) -> Json:
        """The report says by which bookings the sample was analysed."""
        bookings = sorted(result["reference"] for result in request.results.values())
        return {**request.data, "bookings": bookings}
