"""A store with many orders that look unlike one another, for `bench.queries`: of few and of many customers, with SKUs
and totals that few or many orders have, and a hundredth of them unfinished."""

import sys
from typing import Any

from django.core.management import call_command
from django.db import connection

from bench import server
from orders.business.registry import workflows

BATCH = 100_000
APART = 6
"""Seconds between two orders."""

EMPTIED = """
TRUNCATE orders_order, orders_orderline, orders_orderprocess, orders_stepstate, orders_alert, orders_alertgroup,
         orders_archivedorder, orders_customerterm, orders_termswalk, orders_outgoingmessage, orders_groupnote,
         orders_bulkaction, orders_bulkitem CASCADE
"""
CUSTOMERS = """
INSERT INTO auth_user (username, password, email, first_name, last_name, is_superuser, is_staff, is_active, date_joined)
SELECT 'c' || n, '', '', '', '', false, false, true, now() FROM generate_series(0, 19999) AS n
    ON CONFLICT DO NOTHING
"""
GROUPS = """
INSERT INTO orders_alertgroup (kind, agent, code, pattern, acknowledged_by, owner_id)
SELECT 'step_failed', 'carrier', code, 'no', CASE code WHEN 'declined' THEN 'c1' ELSE '' END,
       CASE code WHEN 'declined' THEN (SELECT id FROM auth_user WHERE username = 'c1') END
  FROM unnest('{declined,no_route}'::text[]) AS code
"""
# `n` is the number of newer orders. The names: a tenth of all customers is called Anna, the others are of 900 families.
MADE = """
CREATE TEMP TABLE made AS
SELECT n, md5(n::text)::uuid AS id, now() - n * %(apart)s * interval '1 second' AS at,
       CASE WHEN n < %(under_way)s THEN CASE n %% 5 WHEN 0 THEN 'processing' ELSE 'pending' END
            WHEN n %% 100 = 7 THEN 'error' WHEN n %% 40 = 9 THEN 'compensated' ELSE 'processed' END AS state,
       n %% 20000 AS who, (n * 7919) %% 30000 + 500 AS total, 'sku-' || n %% 400 || '-a2' AS sku,
       CASE WHEN n %% 3 = 0 THEN 'c' || n %% 20000 || '@shop' || n %% 50 || '.example.org'
            ELSE 'guest' || n %% 300000 || '@mail' || n %% 7 || '.example' END AS email,
       CASE WHEN n %% 10 = 0 THEN 'Anna' ELSE 'Name' || n %% 5000 END || ' Family' || n %% 900 AS name
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
"""
ORDERS = """
INSERT INTO orders_order (id, customer_id, title, email, currency, total, data, placed_at, promised_by, reference)
SELECT id, (SELECT id FROM auth_user WHERE username = 'c' || who), 'Tidal lines', email, 'EUR', total,
       jsonb_build_object('ship_to', jsonb_build_object('name', name)), at, at + interval '1 hour',
       CASE WHEN n %% 9 = 0 THEN 'PO-' || n ELSE '' END
  FROM made;
INSERT INTO orders_orderline (order_id, sku, title, quantity, unit_price)
SELECT id, sku, 'Tidal lines', 1, total FROM made;
INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns, priority,
       reply_to, announced, created_at, started_at, finished_at, not_before, locked_by, complete_by)
SELECT id, %(workflow)s, %(version)s, CASE WHEN state = 'compensated' THEN 'compensate' ELSE 'complete' END, state,
       CASE WHEN n %% 100 = 7 THEN 3 ELSE 0 END, 0, n %% 10, '', true, at, at,
       CASE WHEN state IN ('processed', 'compensated') THEN at + n %% 90 * interval '1 minute' END,
       CASE WHEN state = 'pending' THEN now() + interval '1 day' END,
       CASE WHEN state = 'processing' THEN 'scheduler:bench' END,
       CASE WHEN state = 'processing' THEN now() + interval '1 day' END
  FROM made;
INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
       compensation_generation, outcome, failure_count, compensation_failure_count, extended_waits, priority, request,
       waiting_since, complete_by)
SELECT id, step.name, step.position, step.agent, became.state, became.attempt, 0, 1, 1,
       CASE became.state WHEN 'failed' THEN 'refused' WHEN 'running' THEN 'unknown' WHEN 'not_started' THEN 'none'
                         ELSE 'done' END, 0, 0, 0, 5, '{}',
       CASE WHEN made.state = 'pending' AND step.position = 0 AND n %% 3 = 0 THEN at END,
       CASE WHEN became.state = 'running' THEN now() + interval '1 day' END
  FROM made CROSS JOIN unnest(%(names)s::text[], %(agents)s::text[]) WITH ORDINALITY AS declared (name, agent, number)
 CROSS JOIN LATERAL (SELECT declared.name, declared.agent, declared.number - 1 AS position) AS step
 CROSS JOIN LATERAL (
       SELECT CASE WHEN made.state = 'processed' OR made.state = 'error' AND step.position < 2 THEN 'completed'
                   WHEN made.state = 'compensated' THEN 'compensated'
                   WHEN made.state = 'error' AND step.position = 2 THEN 'failed'
                   WHEN made.state = 'processing' AND step.position = 0 THEN 'running' ELSE 'not_started' END AS state
       ) AS stands
 CROSS JOIN LATERAL (
       SELECT stands.state, CASE stands.state WHEN 'not_started' THEN 0 ELSE 1 + n %% 4 END AS attempt) AS became;
INSERT INTO orders_alert (group_id, order_id, kind, step, agent, code, message, opened_at, closed_by, resolution)
SELECT (SELECT id FROM orders_alertgroup WHERE code = error), id, 'step_failed', 'create-shipment', 'carrier', error,
       'no', at, '', ''
  FROM made CROSS JOIN LATERAL (SELECT CASE n %% 1000 WHEN 7 THEN 'declined' ELSE 'no_route' END AS error) AS failed
 WHERE state = 'error';
INSERT INTO orders_customerterm (email, term, is_name)
SELECT DISTINCT email, term, is_name
  FROM made CROSS JOIN LATERAL (
       VALUES (email, false), (substring(email FROM '@.*'), false), (substring(email FROM '@(.*)'), false),
              (lower(name), true), (lower(substring(name FROM ' (.*)')), true)) AS terms (term, is_name)
    ON CONFLICT DO NOTHING;
DROP TABLE made
"""


def fill(number: int) -> None:
    """Deletes all orders and stores that many."""
    server.require_database_url()
    call_command("migrate", verbosity=0)
    (workflow,) = workflows().values()
    values: dict[str, Any] = {
        "apart": APART,
        "under_way": max(2, number // 200),
        "workflow": workflow.name,
        "version": workflow.version,
        "names": [step.name for step in workflow.steps],
        "agents": [step.agent for step in workflow.steps],
    }
    with connection.cursor() as cursor:
        # The rows are consistent by construction, so they need not be checked one by one.
        cursor.execute("SET transaction_timeout = 0; SET session_replication_role = replica")
        for statement in (EMPTIED, CUSTOMERS, GROUPS):
            cursor.execute(statement)
        for first in range(1, number + 1, BATCH):
            last = min(first + BATCH - 1, number)
            for statement in (MADE, *ORDERS.split(";\n")):
                cursor.execute(statement, {**values, "first": first, "last": last})
            print(f"\r{last:,} orders", end="", file=sys.stderr, flush=True)
        cursor.execute("SET session_replication_role = origin")
        cursor.execute("VACUUM ANALYZE")
    print(file=sys.stderr)
