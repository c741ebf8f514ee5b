"""The pages with a million orders in the store: the server's time for each, and which take over 100 ms.

    .venv/bin/python -m bench console [--orders N] [--requests N] [--explain]

Stores `--orders` orders of the last 40 days, among them 20,000 with an open alert and 2,000 that wait for an agent, and
a bulk action of 15,000. Then it requests each page in this process: those of the console as an administrator, the
others as a customer with a thousandth of the orders. The first request of each is not counted. `--explain` shows the
slowest statements of the pages that are too slow.
"""

import bench.ready  # noqa: F401, I001 - sets up Django, so it goes first

import argparse
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench import server, tables
from bench.console_pages import CUSTOMER, console_pages, customer_pages
from orders.demo import loading
from orders.models import OrderProcess
from orders.business.registry import workflows
from sasweb import garbage

LIMIT = 100.0
"""Milliseconds that a page may take."""
FEWEST = 4
"""Orders, of which one has failed."""
BATCH = 50_000
DAYS = 40
EXPLAINED = 3
"""Statements of a page that are explained."""

# The store, table by table. `n` is the number of newer orders. Every %(failed)s-th order has failed; the newest
# %(waiting)s orders wait.
ORDERS = """
CREATE TEMP TABLE made AS
SELECT n, uuidv7(make_interval(secs => -n * %(apart)s)) AS order_id, now() - make_interval(secs => n * %(apart)s) AS at,
       CASE WHEN n %% %(failed)s = 0 THEN 'error' WHEN n < %(waiting)s THEN 'pending'
            WHEN n %% 40 = 7 THEN 'compensated' ELSE 'processed' END AS state
  FROM generate_series(%(first)s, %(last)s) AS n;
INSERT INTO orders_order (id, customer_id, email, currency, total, ship_to, payment_method, placed_at)
SELECT order_id, CASE WHEN n %% 1000 = 1 THEN %(customer)s END, 'customer' || n %% 50000 || '@example.com', 'EUR',
       3900 + n %% 1000, '{"country": "NL"}', 'card_ok', at
  FROM made;
INSERT INTO orders_orderline (order_id, sku, title, quantity, unit_price)
SELECT order_id, 'first-sun', 'First Sun', 1, 3900 + n %% 1000 FROM made;
INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns, priority,
       reply_to, announced, created_at, started_at, finished_at, not_before)
SELECT order_id, %(workflow)s, %(version)s, CASE WHEN state = 'compensated' THEN 'compensate' ELSE 'complete' END,
       state, CASE WHEN state = 'error' THEN 3 ELSE 0 END, 0, n %% 10, '', true, at, at,
       CASE WHEN state IN ('processed', 'compensated') THEN at + interval '3 s' END,
       CASE WHEN state = 'pending' THEN now() + interval '1 day' END
  FROM made;
INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
       compensation_generation, outcome, failure_count, compensation_failure_count, extended_waits, priority,
       request, result, error, started_at, completed_at, waiting_since)
SELECT order_id, step.name, step.position, step.agent, became.state, became.attempt, became.attempt, 1, 1,
       became.outcome, CASE WHEN became.state = 'failed' THEN 3 ELSE 0 END, 0, 0, n %% 10, '{"amount": 3900}',
       CASE WHEN became.outcome = 'done' THEN '{"id": "x"}'::jsonb END,
       CASE WHEN became.state = 'failed' THEN '{"code": "http_503", "message": "it does not answer"}'::jsonb END,
       CASE WHEN became.attempt > 0 THEN at END, CASE WHEN became.outcome = 'done' THEN at + interval '2 s' END,
       CASE WHEN made.state = 'pending' AND step.position = 0 THEN at END
  FROM made
 CROSS JOIN unnest(%(names)s::text[], %(agents)s::text[]) WITH ORDINALITY AS declared(name, agent, number)
 CROSS JOIN LATERAL (SELECT declared.name, declared.agent, declared.number - 1 AS position) AS step
 CROSS JOIN LATERAL (
       SELECT CASE WHEN made.state = 'processed' OR made.state = 'error' AND step.position < 2 THEN 'completed'
                   WHEN made.state = 'compensated' AND step.position < 3 THEN 'compensated'
                   WHEN made.state = 'error' AND step.position = 2 THEN 'failed' ELSE 'not_started' END AS state
       ) AS stands
 CROSS JOIN LATERAL (
       SELECT stands.state,
              CASE stands.state WHEN 'not_started' THEN 0 WHEN 'compensated' THEN 2 ELSE 1 END AS attempt,
              CASE stands.state WHEN 'completed' THEN 'done' WHEN 'compensated' THEN 'done'
                                WHEN 'failed' THEN 'refused' ELSE 'none' END AS outcome
       ) AS became;
INSERT INTO orders_event (order_id, at, kind, step, attempt, actor_kind, actor_name, detail)
SELECT order_id, at, kind, (%(names)s::text[])[1 + e / 2], 1, 'scheduler', 'scheduler:bench', '{}'
  FROM made CROSS JOIN generate_series(0, 9) AS e
 CROSS JOIN LATERAL (SELECT CASE e %% 2 WHEN 0 THEN 'dispatched' ELSE 'reply_taken' END AS kind) AS happened
 WHERE n < %(eventful)s;
INSERT INTO orders_alert (group_id, order_id, kind, step, agent, code, message, opened_at, closed_by, resolution)
SELECT (SELECT id FROM orders_alertgroup WHERE code = 'bench_' || n / %(failed)s %% 12), order_id, 'step_failed',
       (%(names)s::text[])[3], (%(agents)s::text[])[3], 'bench_' || n / %(failed)s %% 12, 'it does not answer',
       at, '', ''
  FROM made WHERE state = 'error';
DROP TABLE made;
"""
GROUPS = """
INSERT INTO orders_alertgroup (kind, agent, code, pattern, acknowledged_by)
SELECT 'step_failed', 'carrier', 'bench_' || n, 'it does not answer', '' FROM generate_series(0, 11) AS n
"""
DESK = """
INSERT INTO orders_bulkaction (kind, state, selection, query, by, reason, starts_at, waves, wave, stop_share, rate,
       total, pause_reason)
VALUES ('resubmit', 'paused', 'what the carrier refused', '{}', 'olga', '', now(), '[1, 10, 100, 14889]', 3, 0.2, 20,
        15000, 'by olga');
INSERT INTO orders_bulkitem (action_id, position, wave, order_id, state, result)
SELECT (SELECT max(id) FROM orders_bulkaction), row_number() OVER (), 3, order_id,
       CASE WHEN random() < 0.5 THEN 'waiting' ELSE 'done' END, ''
  FROM orders_orderprocess WHERE process_state = 'error' LIMIT 15000;
INSERT INTO orders_auditentry (at, actor, ip_address, act, target, allowed, result, reason, before, after)
SELECT now() - make_interval(mins => n), 'operator ' || n %% 20, '192.0.2.7',
       (ARRAY['resubmit', 'skip', 'pause-agent'])[1 + n %% 3], 'order ' || n,
       n %% 50 > 0, 'resubmitted', '', '{"a": 1}', '{"a": 2}'
  FROM generate_series(1, 100000) AS n;
INSERT INTO orders_sweeprecord (at, holder, term, found, recovered, escalated, steps_timed_out)
SELECT now() - make_interval(secs => n * 10), 'supervisor:bench', 3, 5, 4, 1, 5 FROM generate_series(1, 200) AS n;
INSERT INTO orders_circuit (agent, state, since, openings, cause_code, cause_message, window_calls, window_failures,
       tokens, forced, paused, held_by, held_reason)
SELECT DISTINCT agent, 'closed', now(), 0, '', '', 0, 0, 0, '', false, '', '' FROM unnest(%s::text[]) AS agent
    ON CONFLICT DO NOTHING;
INSERT INTO orders_agentinstance (instance, agent, capacity, in_flight, calls, failed_calls, recent_calls,
       recent_failures, seen_at)
SELECT 'agents:bench', agent, 500, 7, 1000, 10, 200, 2, now() + interval '1 day' FROM orders_circuit;
"""
EMPTIED = """
TRUNCATE orders_order, orders_orderline, orders_orderprocess, orders_stepstate, orders_event, orders_alert,
         orders_alertgroup, orders_groupnote, orders_outgoingmessage, orders_bulkaction, orders_bulkitem,
         orders_auditentry, orders_sweeprecord, orders_agentinstance, orders_circuit
"""


def fill(number: int) -> None:
    """Deletes all orders and stores that many, with everything that the console shows about them."""
    server.require_database_url()
    call_command("migrate", verbosity=0)
    loading.load(settings.CONFIG.var_dir)
    (workflow,) = workflows().values()
    values: dict[str, Any] = {
        "customer": User.objects.get_or_create(username=CUSTOMER)[0].pk,
        "apart": DAYS * 86_400 / number,
        "failed": max(2, number // min(20_000, number // 4)),
        "waiting": min(2_000, number // 20),
        "eventful": min(50_000, number),
        "workflow": workflow.name,
        "version": workflow.version,
        "names": [step.name for step in workflow.steps],
        "agents": [step.agent for step in workflow.steps],
    }
    with connection.cursor() as cursor:
        # The rows are consistent by construction, so they need not be checked one by one.
        cursor.execute("SET transaction_timeout = 0; SET session_replication_role = replica")
        cursor.execute(EMPTIED)
        cursor.execute(GROUPS)
        for first in range(1, number + 1, BATCH):
            last = min(first + BATCH - 1, number)
            _run(ORDERS, {**values, "first": first, "last": last})
            print(f"\r{last:,} orders", end="", file=sys.stderr, flush=True)
        _run(DESK, [values["agents"]])
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("VACUUM ANALYZE")
    print(file=sys.stderr)


def _run(script: str, values: Any) -> None:
    """Runs statements with values, one after the other."""
    with connection.cursor() as cursor:
        for statement in filter(str.strip, script.split(";\n")):
            if isinstance(values, Mapping) or "%s" in statement:
                cursor.execute(statement, values)
            else:
                cursor.execute(statement.replace("%%", "%"))


def measure_all(requests: int) -> Mapping[str, tuple[Client, str]]:
    """Prints a table of all pages. Returns those whose p95 is more than `LIMIT`, by name, and who asks for them."""
    admin, customer = Client(), Client()
    admin.force_login(User.objects.get(username="admin"))
    customer.force_login(User.objects.get(username=CUSTOMER))
    pages = {name: (admin, path) for name, path in console_pages().items()}
    pages |= {name: (customer, path) for name, path in customer_pages(customer).items()}
    rows: list[list[Any]] = []
    slow = {}
    for name, (client, path) in pages.items():
        times, cpu = measure(client, path, requests)
        p95 = server.percentile(times, 95)
        rows.append([name, statistics.median(times), p95, cpu])
        if p95 > LIMIT:
            slow[name] = client, path
    tables.print_table(["page", "p50 ms", "p95 ms", "CPU ms"], rows)
    return slow


def measure(client: Client, path: str, requests: int) -> tuple[Sequence[float], float]:
    """Milliseconds of each request, sorted; and the mean processor milliseconds of one, here and in the database.

    On a shared machine only the second figure says much.
    """
    assert client.get(path).status_code == 200, path
    times, began_cpu = [], _processor_time()
    for _ in range(requests):
        began = time.perf_counter()
        client.get(path)
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times), (_processor_time() - began_cpu) * 1000 / requests


def _processor_time() -> float:
    """Processor seconds that this process and its database session have used."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (session,) = cursor.fetchone()
    ticks = Path(f"/proc/{session}/stat").read_text().rpartition(")")[2].split()[11:13]
    return time.process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def explain(client: Client, path: str) -> None:
    """Prints the plans of a page's slowest statements."""
    with CaptureQueriesContext(connection) as captured:
        client.get(path)
    slowest = sorted(captured, key=lambda query: float(query["time"]), reverse=True)[:EXPLAINED]
    for query in slowest:
        print(f"\n{path}: {float(query['time']) * 1000:.0f} ms\n{query['sql'][:2000]}")
        if query["sql"].lstrip(" \n(").upper().startswith(("SELECT", "WITH")):
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {query['sql'].replace('%', '%%')}", None)
                print("\n".join(line for (line,) in cursor.fetchall()))


def main() -> None:
    """Measures each page and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench console", description=__doc__.partition("\n")[0])
    parser.add_argument("--orders", type=int, default=1_000_000, help="in the store; %(default)s by default")
    parser.add_argument("--requests", type=int, default=20, help="of each page; %(default)s by default")
    parser.add_argument("--explain", action="store_true", help="show the slowest statements of slow pages")
    parser.add_argument(
        "--keep", action="store_true", help="use the store that an earlier run on DATABASE_URL has filled"
    )
    options = parser.parse_args()
    if options.orders < FEWEST:
        parser.error(f"--orders must be at least {FEWEST}")
    settings.REQUIRE_SECOND_FACTOR = False
    settings.ALLOWED_HOSTS = ["testserver"]
    garbage.spare_what_stays()  # as the web's processes do when they start
    if not options.keep:
        fill(options.orders)
    elif OrderProcess._meta.db_table not in connection.introspection.table_names():
        parser.error("--keep: no earlier run has filled this database")
    slow = measure_all(options.requests)
    print(f"over {LIMIT:.0f} ms: {'; '.join(slow) or 'no page'}")
    if options.explain:
        for client, path in slow.values():
            explain(client, path)


if __name__ == "__main__":
    main()
