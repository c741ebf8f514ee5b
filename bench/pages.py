"""How soon the shop's pages appear with ten thousand posters in the catalogue: the first contentful paint.

    .venv/bin/python -m bench pages [--runs N]

Each run uses a fresh browser profile on this machine. Needs Debian's Chromium (`CHROMIUM` names another path).
"""

import bench.ready  # noqa: F401, I001 - sets up Django, so it goes first

import argparse
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from playwright.sync_api import Browser, sync_playwright

from bench import server, tables
from orders.demo import loading
from tests.browser import buying
from tests.browser.chromium import launch
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.server import Server

POSTERS = 10_000
PAGES = {
    "catalogue": "/",
    "last page": "/?page=400",
    "search": "/?q=maren",
    "family, by price": "/?family=contours&sort=-price",
    "poster": "/posters/first-sun/",
    "cart": "/cart/",
    "checkout": "/checkout/",
}

# Copies of the demonstration's posters.
FILL = """
INSERT INTO orders_product
       (sku, size, edition, title, artist, description, price, currency, design, is_listed, rank)
SELECT 'bench-' || n, p.size, p.edition, p.title || ' ' || n, p.artist, p.description, p.price + n, p.currency,
       p.design, true, 1000 + n
  FROM generate_series(1, %s) AS n
  JOIN (SELECT *, row_number() OVER (ORDER BY sku) AS place, count(*) OVER () AS posters
          FROM orders_product WHERE variant_of_id IS NULL) AS p ON p.place = n %% p.posters + 1
"""
PAINTED = """() => new Promise(resolve => new PerformanceObserver(list => {
    const paint = list.getEntriesByName("first-contentful-paint")[0];
    if (paint) resolve([paint.startTime, performance.getEntriesByType("navigation")[0].responseStart]);
}).observe({type: "paint", buffered: true}))"""


def fill() -> None:
    """Loads the demonstration's catalogue, and the copies."""
    server.require_database_url()
    call_command("migrate", verbosity=0)
    loading.load(settings.CONFIG.var_dir)
    with connection.cursor() as cursor:
        cursor.execute(FILL, [POSTERS])
        cursor.execute("ANALYZE orders_product")
    connection.close()


def measure(browser: Browser, url: str, state: Any, path: str) -> Mapping[str, float]:
    """Milliseconds until a page is painted, and until its response begins."""
    context = browser.new_context(base_url=url, storage_state=state)
    page = context.new_page()
    page.goto(path)
    painted, answered = page.evaluate(PAINTED)
    context.close()
    return {"painted": painted, "answered": answered}


def measure_all(runs: int) -> list[list[Any]]:
    """The rows of the table."""
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        web = Server(Path(folder) / "web.log", database_url=database_url(), VAR_DIR=folder)
        try:
            until(web.answers, seconds=30, what="the web server")
            url = f"http://127.0.0.1:{web.port}"
            browser = launch(playwright)
            buyer = browser.new_context(base_url=url)
            buying.fill_cart(buyer.new_page())
            state = buyer.storage_state()
            for name, path in PAGES.items():
                samples = [measure(browser, url, state, path) for _ in range(runs)]
                painted = [sample["painted"] for sample in samples]
                answered = statistics.median(sample["answered"] for sample in samples)
                rows.append([name, statistics.median(painted), max(painted), answered])
            browser.close()
        finally:
            web.end()
    return rows


def main() -> None:
    """Measures each page and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench pages", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="visits to each page; %(default)s by default")
    options = parser.parse_args()
    fill()
    columns = ["page", "painted, median ms", "painted, worst ms", "answered, median ms"]
    tables.print_table(columns, measure_all(options.runs))


if __name__ == "__main__":
    main()
