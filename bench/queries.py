"""The query language with a million orders in the store: the server's time for a page of each field's orders.

    .venv/bin/python -m bench queries [--orders N] [--requests N] [--only TEXT] [--explain]

Stores orders with `bench.orders_to_find`, then requests the console's list for each query, in this process, as an
administrator; the first request of each is not counted. Then it takes the time until the first row of an export and
until its end, and of `manage.py orders`. `--explain` shows the slowest statements of the pages that are too slow.
"""

import bench.ready  # noqa: F401, I001 - sets up Django, so it goes first

import argparse
import io
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from bench import orders_to_find, server, tables
from bench.console import LIMIT, explain, measure
from orders.demo import loading
from orders.models import Order, OrderProcess
from sasweb import garbage

QUERIES = (
    *("", "state:error", "state:processed", "-state:processed", "standing:retrying", "standing:processed"),
    *("step:create-shipment", "agent:carrier", "waiting:warehouse", "waiting:anything", "error:declined"),
    *("owner:c1", "acknowledged:c1", "workflow:fulfil-order", "priority:>5", "failures:>2", "attempts:>3"),
    *("attempts:>30", "promise:late", "since:yesterday", "until:2h", "placed:yesterday", "age:>2h"),
    *("customer:c14", "customer:anna", "customer:name77", "customer:fam", "account:c14", "email:guest123"),
    *("email:@mail3.example", "email:c14@shop14.example.org", "email:@shop7", "total:>200", "total:>304.99"),
    *("total:39.00", "total:>999", "sku:sku-7-a2", "sku:sku-7", "title:sku-77-a2", "subject:nothing"),
    *("reference:PO-900", "attribute:batch=7", "id:{last8}", "id:{first8}", "archived:no", "archived:yes"),
    *("anna", "family", "guest777", "39.00", "{last8}", "c14", "sku-77-a2", "nothing at all"),
    "customer:c14 total:>200 sku:sku-14 waiting:warehouse since:yesterday",
    "customer:anna state:error",
    "customer:anna total:>200",
    "state:processed total:>200",
    "total:>200 since:yesterday",
    "state:error error:declined total:>100",
    "sku:sku-7-a2 total:>200",
    "sku:sku-7 -state:processed",
    "placed:yesterday total:>300 sku:sku-3-a2",
    "attempts:>3 state:processed",
    "-agent:carrier",
    "-customer:anna",
    "-sku:sku-7-a2 state:processed",
    "promise:late state:processed since:yesterday",
)
"""Each field, with values of few and of many orders, and what people combine."""
EXPORTED = ("", "total:>200", "customer:anna")
COMMANDS = ("", "state:error", "total:>200")


def named(query: str) -> str:
    """The query with the digits of an order's ID in it."""
    middle = Order.objects.order_by("placed_at")[Order.objects.count() // 2]
    return query.format(last8=middle.pk.hex[-8:], first8=middle.pk.hex[:8])


def exports(client: Client, only: str) -> Iterator[list[Any]]:
    """Milliseconds until the first row and until the end of each export, and its rows."""
    for query in (query for query in EXPORTED if only in query):
        began = time.perf_counter()
        lines = iter(client.get(f"/console/orders.csv?{urlencode({'q': query})}"))
        head, first = next(lines), next(lines, b"")
        seconds = time.perf_counter() - began
        assert head and first, query
        number = 1 + sum(1 for _ in lines)
        yield [query or "all", seconds * 1000, (time.perf_counter() - began) * 1000, number]


def commands(only: str) -> Iterator[list[Any]]:
    """Milliseconds that `manage.py orders` takes in this process."""
    for query in (query for query in COMMANDS if only in query):
        began = time.perf_counter()
        call_command("orders", *query.split(), stdout=io.StringIO())
        yield [query or "all", (time.perf_counter() - began) * 1000]


def measure_pages(client: Client, queries: Sequence[str], requests: int) -> list[str]:
    """Prints a table. Returns the urls that take more than `LIMIT`."""
    rows: list[list[Any]] = []
    slow = []
    for query in queries:
        path = f"/console/orders/?{urlencode({'q': query})}"
        times, cpu = measure(client, path, requests)
        p95 = server.percentile(times, 95)
        rows.append([query or "(none)", statistics.median(times), p95, cpu])
        print(rows[-1], flush=True)
        if p95 > LIMIT:
            slow.append(path)
    tables.print_table(["query", "p50 ms", "p95 ms", "CPU ms"], rows)
    return slow


def main() -> None:
    """Measures each query and prints tables."""
    parser = argparse.ArgumentParser(prog="python -m bench queries", description=__doc__.partition("\n")[0])
    parser.add_argument("--orders", type=int, default=1_000_000, help="in the store; %(default)s by default")
    parser.add_argument("--requests", type=int, default=20, help="of each query; %(default)s by default")
    parser.add_argument("--only", default="", help="only queries with this text")
    parser.add_argument("--explain", action="store_true", help="show the slowest statements of slow pages")
    parser.add_argument(
        "--keep", action="store_true", help="use the store that an earlier run on DATABASE_URL has filled"
    )
    options = parser.parse_args()
    if options.orders < 1:
        parser.error("--orders must be at least 1")
    settings.REQUIRE_SECOND_FACTOR = False
    settings.ALLOWED_HOSTS = ["testserver"]
    garbage.spare_what_stays()  # as the web's processes do when they start
    if not options.keep:
        orders_to_find.fill(options.orders)
        loading.load(settings.CONFIG.var_dir)
    elif OrderProcess._meta.db_table not in connection.introspection.table_names():
        parser.error("--keep: no earlier run has filled this database")
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    queries = [named(query) for query in QUERIES if options.only in query]
    slow = measure_pages(client, queries, options.requests)
    print(f"p95 over {LIMIT:.0f} ms: {len(slow)} of {len(queries)} queries")
    tables.print_table(["export", "first row ms", "all ms", "rows"], list(exports(client, options.only)))
    tables.print_table(["manage.py orders", "ms"], list(commands(options.only)))
    if options.explain:
        for path in slow:
            explain(client, path)


if __name__ == "__main__":
    main()
