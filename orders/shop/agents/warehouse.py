"""The warehouse: reserves an order's stock, and releases it; and it says how many are left of what it counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from orders.agents.answers import decline_if
from orders.agents.listing import list_effects
from orders.agents.rehearsing import rehearse
from orders.agents.transport import CALL_TIMEOUT, Remote, unknown_operation
from orders.engine.contracts import EffectPage, Finding, Json, Request
from orders.engine.errors import Refused, Unresolved
from orders.engine.rehearsals import Rehearsal
from orders.shop.agents.codes import SOLD_OUT

MOST_LEFT = 2**31 - 1
"""A warehouse that has more of something has as good as this many."""


@dataclass(frozen=True, kw_only=True)
class StockPage:
    """How many are left of some products: their `stock`, by SKU. `following` is the cursor for those behind them; "" if
    none are."""

    stock: Mapping[str, int]
    following: str


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

    async def list_stock(self, *, after: str) -> StockPage:
        """Asks for one page of what is left of the products that the warehouse counts. Raises a `Fault` if that fails,
        `Unresolved` if the answer is not a page."""
        answer = await self._remote.get("stock", after=after)
        items, following = answer.get("stock"), answer.get("next")
        try:
            if not isinstance(items, list) or not isinstance(following, str | None):
                raise TypeError("no list of stock, or a next that is not a text")
            stock = dict(map(_left, items))
        except (KeyError, TypeError, ValueError) as error:
            raise Unresolved("bad_answer", f"the answer is not a page of stock: {error}") from error
        return StockPage(stock=stock, following=following or "")

    async def close(self) -> None:
        """Closes the connections."""
        await self._remote.close()


def _left(item: Mapping[str, object]) -> tuple[str, int]:
    """A product and how many are left. Raises `KeyError`, `TypeError` or `ValueError` if it is none."""
    sku, number = item["sku"], item["left"]
    if not isinstance(sku, str) or not isinstance(number, int) or isinstance(number, bool):
        raise TypeError("a sku is not a text, or what is left of it is no whole number")
    if number < 0 or "\x00" in sku:
        raise ValueError("less than nothing is left, or a sku cannot be stored")
    return sku, min(number, MOST_LEFT)
