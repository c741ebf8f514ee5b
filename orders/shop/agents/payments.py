"""The payment gateway: authorises and captures an order's payment, and voids or refunds it."""

from datetime import datetime
from typing import Any

from orders.agents.answers import decline_if
from orders.agents.listing import list_effects
from orders.agents.rehearsing import rehearse
from orders.agents.transport import CALL_TIMEOUT, Remote, unknown_operation
from orders.engine.contracts import EffectPage, Finding, Json, Request
from orders.engine.errors import Refused
from orders.engine.rehearsals import Rehearsal

REVERSALS = {"authorise": "void", "capture": "refund"}
"""The gateway's operation that reverses each of ours."""


class Payments:
    """The agent of the payment gateway at `url`. `capacity` is how many calls may be under way at once."""

    name = "payments"
    call_timeout = CALL_TIMEOUT
    operations = frozenset(REVERSALS)

    def __init__(self, url: str, *, capacity: int = 500) -> None:
        self.capacity = capacity
        self._remote = Remote(url, timeout=self.call_timeout)

    async def perform(self, request: Request) -> Json:
        """Authorises or captures the amount. Raises `Declined` if the customer must choose another way to pay."""
        if request.operation == "authorise":
            try:
                return await self._post("authorise", request, **request.data)
            except Refused as refusal:
                raise decline_if(refusal, "unknown_payment_method") from refusal  # she can name another one
        if request.operation == "capture":
            authorisation = _authorisation(request.results.get("authorise-payment") or {})
            if not authorisation:
                raise Refused("no_authorisation", "no authorisation to capture")
            return await self._post("capture", request, authorisation=authorisation, **request.data)
        raise unknown_operation(request)

    async def compensate(self, request: Request) -> Json:
        """Voids the authorisation or refunds the capture. Raises `Refused` if the gateway definitely will not."""
        if request.operation not in REVERSALS:
            raise unknown_operation(request)
        return await self._post(REVERSALS[request.operation], request, reverses=request.reverses)

    async def rehearse(self, request: Request) -> Rehearsal:
        """Says what it would send."""
        return await rehearse(self, request)

    async def inquire(self, request: Request) -> Finding:
        """Asks what has become of the call with the request's key."""
        return await self._remote.inquire(request.key)

    async def list_effects(self, *, since: datetime, after: str) -> EffectPage:
        """Lists a page of the gateway's effects since then."""
        return await list_effects(self._remote, since=since, after=after)

    async def close(self) -> None:
        """Closes the connections."""
        await self._remote.close()

    async def _post(self, path: str, request: Request, **fields: Any) -> dict[str, Any]:
        body = {"order_id": str(request.order_id), **fields}
        return await self._remote.post(path, key=request.key, body=body)


def _authorisation(answer: Json) -> str:
    authorisation = answer.get("authorisation")
    return authorisation if isinstance(authorisation, str) else ""
