"""The warehouse: reserves an order's stock, and releases it."""

from datetime import datetime

from orders.agents.answers import decline_if
from orders.agents.listing import list_effects
from orders.agents.rehearsing import rehearse
from orders.agents.transport import CALL_TIMEOUT, Remote, unknown_operation
from orders.engine.contracts import EffectPage, Finding, Json, Request
from orders.engine.errors import Refused
from orders.engine.rehearsals import Rehearsal
from orders.shop.agents.codes import SOLD_OUT


class Warehouse:
    """The agent of the warehouse at `url`. `capacity` is how many calls may be under way at once."""

    name = "warehouse"
    call_timeout = CALL_TIMEOUT
    operations = frozenset({"reserve"})

    def __init__(self, url: str, *, capacity: int = 500) -> None:
        self.capacity = capacity
        self._remote = Remote(url, timeout=self.call_timeout)

    async def perform(self, request: Request) -> Json:
        """Reserves the order's lines. Raises `Declined` if there is not enough stock."""
        if request.operation != "reserve":
            raise unknown_operation(request)
        body = {"order_id": str(request.order_id), "lines": request.data["lines"]}
        try:
            return await self._remote.post("reserve", key=request.key, body=body)
        except Refused as refusal:
            raise decline_if(refusal, SOLD_OUT) from refusal

    async def compensate(self, request: Request) -> Json:
        """Releases the reservation, or makes sure that it can no longer be made."""
        if request.operation != "reserve":
            raise unknown_operation(request)
        body = {"order_id": str(request.order_id), "reverses": request.reverses}
        return await self._remote.post("release", key=request.key, body=body)

    async def rehearse(self, request: Request) -> Rehearsal:
        """Says what it would send."""
        return await rehearse(self, request)

    async def inquire(self, request: Request) -> Finding:
        """Asks what has become of the call with the request's key."""
        return await self._remote.inquire(request.key)

    async def list_effects(self, *, since: datetime, after: str) -> EffectPage:
        """Lists a page of the warehouse's effects since then."""
        return await list_effects(self._remote, since=since, after=after)

    async def close(self) -> None:
        """Closes the connections."""
        await self._remote.close()
