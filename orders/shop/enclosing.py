"""What the shop's emails have that the step's request does not say: the links to the order and its receipt, the names,
pictures and numbers of its posters, when the parcel was sent, and of a cancelled order why, and what became of its
money.

The agent has no database, so what needs one is looked up in a thread of its own, in parts. An email must never fail or
wait for a picture: what the database does not say in time is left out, and of the money it says what is always true.
Without a link, customers of the shop's own pages still find the order by its number; a REST client's customer would be
led to a page that she cannot open.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, TypeVar
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
    StepEnd,
    addressee_of,
    order_of_customer,
    step_ends,
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

NOT_BEGUN = StepEnd()

log = structlog.get_logger()
Result = TypeVar("Result")


class LookUp(Protocol):
    """Adds to what an email encloses so far; may raise anything."""

    @property
    def __name__(self) -> str:
        """What it is called in the log."""

    def __call__(self, request: Request, enclosures: Enclosures, /) -> Enclosures: ...


class Encloser:
    """Finds what belongs in an email: what each of the `look_ups` adds, `within` so many seconds for all of them, and
    the setting `tracking_url`."""

    def __init__(self, *look_ups: LookUp, tracking_url: str = "", within: float = LOOK_UP_WITHIN) -> None:
        self._look_ups = look_ups
        self._tracking_url = tracking_url
        self._within = within
        self._thread = ThreadPoolExecutor(1, "enclosing")

    async def enclose(self, request: Request) -> Enclosures:
        """What to enclose, without what could not be looked up."""
        enclosures = Enclosures(tracking_url=self._tracking_url, written_at=datetime.now(UTC))
        ends_at = asyncio.get_running_loop().time() + self._within
        for look_up in self._look_ups:
            try:
                async with asyncio.timeout_at(ends_at):
                    enclosures = await self._run(partial(_look_up, look_up, request, enclosures))
            except Exception as error:  # noqa: BLE001 - whatever it is, the email is worth more than its pictures
                log.warning(
                    "part of an email could not be looked up",
                    action="enclose",
                    order_id=str(request.order_id),
                    missing=look_up.__name__,
                    error=f"{type(error).__name__}: {error}",
                )
        return enclosures

    async def close(self) -> None:
        """Closes the connection, and ends the thread once it has finished what it is at."""
        try:
            async with asyncio.timeout(self._within):
                await self._run(lambda: connection.close())  # that of the thread
        except TimeoutError:
            log.warning("a look-up for an email still runs", action="enclose")
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _look_up(look_up: LookUp, request: Request, enclosures: Enclosures) -> Enclosures:
    """Looks up; after a failure once more on a new connection, because the database may have closed the old one since
    the last email."""
    try:
        return look_up(request, enclosures)
    except DatabaseError:
        connection.close()
    try:
        return look_up(request, enclosures)
    except DatabaseError:
        connection.close()
        raise


def order_link(order_id: UUID) -> str:
    """The link to an order: a guest's, which leads to the account's page if the order belongs to an account.

    Its path is written out. `reverse` would import every view into the agents' process, which takes seconds.
    """
    return (
        f"{settings.CONFIG.public_url}/o/{guest_links.make_token(order_id, signed_at=guest_links.today())}/"
    )


def find_links(request: Request, enclosures: Enclosures) -> Enclosures:
    """The links to the order and to the receipt of what was paid, unless the reader cannot open them, whether they are
    a guest's, and when the parcel of an order was sent, if that tells when it should arrive. Two statements."""
    addressee = addressee_of(request.order_id)
    tells = FulfilOrder.tells_customers_of_clients
    can_open = addressee is None or addressee.can_open_page(tells_customers_of_clients=tells)
    link = order_link(request.order_id) if can_open else ""
    links = replace(enclosures, link=link, is_guests=addressee is None or addressee.is_guest)
    if request.compensates:
        return links
    ends = step_ends(request.order_id, (SHIPMENT, POINT_OF_NO_RETURN))
    has_receipt = bool(link) and ends.get(POINT_OF_NO_RETURN, NOT_BEGUN).was_done
    return replace(
        links,
        receipt=f"{link}receipt.pdf" if has_receipt else "",
        sent_at=ends.get(SHIPMENT, NOT_BEGUN).completed_at if request.data.get("delivery") else None,
    )


def find_contents(request: Request, enclosures: Enclosures) -> Enclosures:
    """The names, pictures and numbers of the posters, and what is said of a cancellation. Two statements, and nine more
    for numbers or a cancellation."""
    skus = [line["sku"] for line in request.data["lines"]]
    with translation.override(known_language(request.data.get("language"))):
        products = line_products(skus)
        names = line_names(products)
    shown = {sku: products[sku] for sku in skus[: pictures.MOST] if sku in products}
    drawn = line_pictures(shown, width=pictures.DRAWN)
    return replace(
        enclosures,
        names=names,
        pictures=pictures.inline(drawn, order_id=request.order_id),
        cancellation=_cancellation(request) if request.compensates else (),
        numbers={} if request.compensates else _numbers(request),
    )


LOOK_UPS: Sequence[LookUp] = (find_links, find_contents)
"""What is looked up for an email of the shop, first what matters most."""


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
