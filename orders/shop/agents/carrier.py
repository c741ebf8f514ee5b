"""The carrier: creates an order's shipment, and cancels it."""

from datetime import datetime

from orders.agents.answers import decline_if
from orders.agents.listing import list_effects
from orders.agents.rehearsing import rehearse
from orders.agents.transport import CALL_TIMEOUT, Remote, unknown_operation
from orders.engine.contracts import EffectPage, Finding, Json, Request
from orders.engine.errors import Refused
from orders.engine.rehearsals import Rehearsal
from orders.shop.agents.codes import NOT_SERVED


class Carrier:
    """The agent of the carrier at `url`. `capacity` is how many calls may be under way at once."""

    name = "carrier"
    call_timeout = CALL_TIMEOUT
    operations = frozenset({"create"})

    def __init__(self, url: str, *, capacity: int = 500) -> None:
        self.capacity = capacity
        self._remote = Remote(url, timeout=self.call_timeout)

    async def perform(self, request: Request) -> Json:
        """Creates the shipment. Raises `Declined` if the carrier does not deliver to the address."""
        if request.operation != "create":
            raise unknown_operation(request)
        names = ("ship_to", "lines", "gift_note")
        data = {name: request.data[name] for name in names if name in request.data}
        body = {"order_id": str(request.order_id), **data}
        try:
            return await self._remote.post("create", key=request.key, body=body)
        except Refused as refusal:
            raise decline_if(refusal, NOT_SERVED) from refusal

    async def compensate(self, request: Request) -> Json:
        """Cancels the shipment, or makes sure that it can no longer be created."""
        if request.operation != "create":
            raise unknown_operation(request)
        body = {"order_id": str(request.order_id), "reverses": request.reverses}
        return await self._remote.post("cancel", key=request.key, body=body)

    async def rehearse(self, request: Request) -> Rehearsal:
        """Says what it would send."""
        return await rehearse(self, request)

    async def inquire(self, request: Request) -> Finding:
        """Asks what has become of the call with the request's key."""
        return await self._remote.inquire(request.key)

    async def list_effects(self, *, since: datetime, after: str) -> EffectPage:
        """Lists a page of the carrier's effects since then."""
        return await list_effects(self._remote, since=since, after=after)

    async def close(self) -> None:
        """Closes the connections."""
        await self._remote.close()
