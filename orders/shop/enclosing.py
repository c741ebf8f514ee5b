"""What the shop's emails have that the step's request does not say: the link to the order, the names, pictures and
numbers of its posters, when the parcel was sent, and of a cancelled order why, and what became of its money.

The agent has no database, so what needs one is looked up in a thread of its own. An email must never fail or wait for a
picture: if the database does not answer in time, it has none, and says of the money what is always true.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import translation

from orders.access import guest_links
from orders.emails import pictures
from orders.engine.contracts import Request
from orders.fields.locales import known_language, reader_locale
from orders.selectors.tracked_orders import (
    addressee_of,
    completed_at,
    order_of_customer,
    was_done,
)
from orders.shop.catalogue import line_products
from orders.shop.editions import EditionNumbers, is_numbered
from orders.shop.fulfilment import POINT_OF_NO_RETURN, SHIPMENT
from orders.shop.given_numbers import given_numbers
from orders.shop.letters import Enclosures
from orders.shop.pictures import line_names, line_pictures
from orders.shop.workflows import FulfilOrder
from orders.vocabulary import Goal
from orders.wording.customers.progress import cancellation_sentences

LOOK_UP_WITHIN = 2.0
"""Seconds. An email waits no longer for what is only an ornament."""

log = structlog.get_logger()
Result = TypeVar("Result")


class Encloser:
    """Finds what belongs into an email: what `look_up` answers `within` so many seconds, and the setting
    `tracking_url`."""

    def __init__(
        self,
        look_up: Callable[[Request], Enclosures],
        *,
        tracking_url: str = "",
        within: float = LOOK_UP_WITHIN,
    ) -> None:
        self._look_up = look_up
        self._tracking_url = tracking_url
        self._within = within
        self._thread = ThreadPoolExecutor(1, "enclosing")

    async def enclose(self, request: Request) -> Enclosures:
        """What to enclose: the link at least."""
        return replace(await self._looked_up(request), tracking_url=self._tracking_url)

    async def _looked_up(self, request: Request) -> Enclosures:
        try:
            return await self._run(lambda: self._guarded(request))
        except Exception as error:  # noqa: BLE001 - whatever it is, the email is worth more than its pictures
            log.warning(
                "email without pictures",
                action="enclose",
                order_id=str(request.order_id),
                error=f"{type(error).__name__}: {error}",
            )
            return Enclosures(link=order_link(request.order_id))

    async def close(self) -> None:
        """Closes the connection, and ends the thread once it has finished what it is at."""
        try:
            await self._run(lambda: connection.close())  # that of the thread
        except TimeoutError:
            log.warning("a look-up of pictures still runs", action="enclose")
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _guarded(self, request: Request) -> Enclosures:
        """Looks up; a connection that failed is closed, so that the next email opens a new one."""
        try:
            return self._look_up(request)
        except DatabaseError:
            connection.close()
            raise

    async def _run(self, work: Callable[[], Result]) -> Result:
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        return await asyncio.wait_for(running, self._within)


def order_link(order_id: UUID) -> str:
    """The link to an order: a guest's, which leads to the account's page if the order belongs to an account.

    Its path is written out. `reverse` would import every view into the agents' process, which takes seconds.
    """
    return (
        f"{settings.CONFIG.public_url}/o/{guest_links.make_token(order_id, signed_at=guest_links.today())}/"
    )


def look_up(request: Request) -> Enclosures:
    """The links to the order and to the receipt of what was paid, unless the reader cannot open them, whether they are
    a guest's, names, pictures and numbers of the posters, when the parcel was sent, and what is said of a cancellation.
    At most five statements, and nine more for numbers or a cancellation."""
    skus = [line["sku"] for line in request.data["lines"]]
    with translation.override(known_language(request.data.get("language"))):
        products = line_products(skus)
        names = line_names(products)
    shown = {sku: products[sku] for sku in skus[: pictures.MOST] if sku in products}
    drawn = line_pictures(shown, width=pictures.DRAWN)
    addressee = addressee_of(request.order_id)
    tells = FulfilOrder.tells_customers_of_clients
    can_open = addressee is None or addressee.can_open_page(tells_customers_of_clients=tells)
    link = order_link(request.order_id) if can_open else ""
    return Enclosures(
        names=names,
        link=link,
        receipt=f"{link}receipt.pdf" if link and _has_receipt(request) else "",
        is_guests=addressee is None or addressee.is_guest,
        pictures=pictures.inline(drawn, order_id=request.order_id),
        cancellation=_cancellation(request) if request.compensates else (),
        sent_at=_sent_at(request),
        numbers={} if request.compensates else _numbers(request),
    )


def _has_receipt(request: Request) -> bool:
    """Whether the money was taken."""
    return not request.compensates and was_done(order_id=request.order_id, step=POINT_OF_NO_RETURN)


def _sent_at(request: Request) -> datetime | None:
    """When the parcel of a confirmed order was sent, if that tells when it should arrive."""
    if request.compensates or not request.data.get("delivery"):
        return None
    return completed_at(request.order_id, SHIPMENT)


def _numbers(request: Request) -> Mapping[str, EditionNumbers]:
    """The numbers that the warehouse gave, by SKU."""
    if not is_numbered(request.data):
        return {}
    tracked = order_of_customer(order_id=request.order_id, customer_id=None)
    return given_numbers(tracked) if tracked else {}


def _cancellation(request: Request) -> Sequence[str]:
    """The sentences of the order's page, in the language of its emails."""
    tracked = order_of_customer(order_id=request.order_id, customer_id=None)
    if tracked is None or tracked.order.goal != Goal.COMPENSATE:
        return ()
    with translation.override(known_language(request.data.get("language"))):
        return [words for words in cancellation_sentences(tracked, locale=reader_locale()) if words]
