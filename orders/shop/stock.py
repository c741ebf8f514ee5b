"""What is left of each product, as the warehouse last said. It is a hint: the reservation decides (docs/adr/0085)."""

import asyncio
from collections.abc import Mapping

import structlog

from orders.business import Environment
from orders.engine.errors import Fault, Transient
from orders.engine.runtime.sql import run
from orders.shop.agents import make_warehouse
from orders.shop.agents.warehouse import StockPage, Warehouse

MOST_PAGES = 1_000
"""Pages that one reading has at most."""

log = structlog.get_logger()


def read_stock() -> None:
    """Reads the warehouse's stock and saves what has changed. If the warehouse does not answer, it does so next time.

    Nothing is lost meanwhile: what was read before counts for a while, and then nothing is said.
    """
    with asyncio.Runner() as runner:
        warehouse = make_warehouse(Environment())
        try:
            changed = _read_pages(runner, warehouse)
        except Fault as fault:
            if _note_failure():
                log.warning("the warehouse’s stock cannot be read", action="read_stock", error=str(fault))
        else:
            if _note_success():
                log.info("the warehouse’s stock can be read again", action="read_stock", changed=changed)
        finally:
            runner.run(warehouse.close())


def save(stock: Mapping[str, int]) -> int:
    """Saves what is left, by SKU, and returns how many products have changed. One brief statement.

    A product that has not is only written every five minutes, long before its reading is too old.
    """
    return run(
        """
        UPDATE orders_product AS product
           SET stock = page.stock, stock_read_at = now()
          FROM unnest(%s::text[], %s::int[]) AS page (sku, stock)
         WHERE product.sku = page.sku
           AND (product.stock IS DISTINCT FROM page.stock
                OR product.stock_read_at < now() - interval '5 minutes')
        """,
        [list(stock), list(stock.values())],
    )


def _note_failure() -> bool:
    """Notes that a reading failed. Returns whether it is the first of an outage: any worker may have made the last."""
    noted = run(
        """
        INSERT INTO shop_stockreading AS reading (id, failing_since) VALUES (1, now())
            ON CONFLICT (id) DO UPDATE SET failing_since = now() WHERE reading.failing_since IS NULL
        """
    )
    return noted == 1


def _note_success() -> bool:
    """Notes that a reading succeeded. Returns whether it ended an outage."""
    return run("UPDATE shop_stockreading SET failing_since = NULL WHERE failing_since IS NOT NULL") == 1


def _read_pages(runner: asyncio.Runner, warehouse: Warehouse) -> int:
    """Saves page by page, and returns how many products have changed. Raises a `Fault`."""
    changed, after = 0, ""
    for _ in range(MOST_PAGES):
        page = runner.run(_ask(warehouse, after))
        changed += save(page.stock)
        after = page.following
        if not after:
            break
    return changed


async def _ask(warehouse: Warehouse, after: str) -> StockPage:
    try:
        async with asyncio.timeout(warehouse.call_timeout):
            return await warehouse.list_stock(after=after)
    except TimeoutError as error:
        raise Transient("no_answer", f"no answer within {warehouse.call_timeout:g} s") from error
