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


class _State:
    is_failing = False  # whether this process's last reading failed, so that an outage is one line of its log


def read_stock() -> None:
    """Reads the warehouse's stock and saves what has changed. If the warehouse does not answer, it does so next time.

    Nothing is lost meanwhile: what was read before counts for a while, and then nothing is said.
    """
    with asyncio.Runner() as runner:
        warehouse = make_warehouse(Environment())
        try:
            changed = _read_pages(runner, warehouse)
        except Fault as fault:
            if not _State.is_failing:
                log.warning("the warehouse’s stock cannot be read", action="read_stock", error=str(fault))
            _State.is_failing = True
        else:
            if _State.is_failing:
                log.info("the warehouse’s stock can be read again", action="read_stock", changed=changed)
            _State.is_failing = False
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
