"""How soon the shop's pages appear with ten thousand posters in the catalogue: the first contentful paint.

python -m sasweb.embedded_postgres -- python -m bench.pages [RUNS]

Each run uses a fresh browser profile on this machine. Needs Debian's Chromium (`CHROMIUM` names another path).
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from orders.demo import loading  # noqa: E402
from tests.browser import buying  # noqa: E402
from tests.browser.chromium import launch  # noqa: E402
from tests.support.system import database_url  # noqa: E402
from tests.support.wait import until  # noqa: E402
from tests.web.server import Server  # noqa: E402

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


def main(runs: int) -> None:
    """Prints a line for each page."""
    fill()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder) / "web.log", database_url=database_url(), VAR_DIR=folder)
        try:
            until(server.answers, seconds=30, what="the web server")
            url = f"http://127.0.0.1:{server.port}"
            browser = launch(playwright)
            buyer = browser.new_context(base_url=url)
            buying.fill_cart(buyer.new_page())
            state = buyer.storage_state()
            print(f"{POSTERS:,} posters, {runs} runs; ms     painted: median    worst    answered: median")
            for name, path in PAGES.items():
                samples = [measure(browser, url, state, path) for _ in range(runs)]
                painted = [sample["painted"] for sample in samples]
                answered = [sample["answered"] for sample in samples]
                print(
                    f"{name:18} {statistics.median(painted):40.0f} {max(painted):8.0f}"
                    f" {statistics.median(answered):18.0f}"
                )
            browser.close()
        finally:
            server.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
