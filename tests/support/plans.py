"""Tables with 30,000 finished orders, and how PostgreSQL would run a function's statements on them."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer
from pytest_django.plugin import DjangoDbBlocker

from orders.engine.runtime.sql import fetch, run
from orders.models import AgentRequest, OrderProcess

FILL = [
    # 30,000 orders that have finished, 400 ready, 10 due, 10 waiting, and 40 being processed, 10 of them overdue
    """
    INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, locked_by, complete_by,
                                     failure_count, overruns, priority, not_before, reply_to, announced, created_at)
    SELECT md5(n::text)::uuid, 'bake-cake', 3, 'complete', state,
           CASE WHEN state = 'processing' THEN 'scheduler:1' END,
           CASE WHEN state = 'processing' THEN now() + (n % 4 - 0.5) * interval '1 day' ELSE now() END,
           0, 0, n % 10,
           CASE WHEN n > 30400 AND n <= 30420 THEN now() + (n - 30410.5) * interval '1 day' END, '', n % 1000 <> 7,
           now() - (40000 - n) / 10 * interval '1 minute'
      FROM (SELECT n, CASE WHEN n <= 30000 THEN 'processed' WHEN n <= 30420 THEN 'pending'
                           ELSE 'processing' END AS state FROM generate_series(1, 30460) AS n) AS g
    """,
    """
    INSERT INTO orders_order (id, data, placed_at)
    SELECT order_id, '{"items": [{"what": "cake"}]}', created_at FROM orders_orderprocess
    """,
    """
    INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
                                  compensation_generation, outcome, complete_by, failure_count,
                                  compensation_failure_count, extended_waits, request, priority)
    SELECT p.order_id, s.name, s.position, 'kitchen', s.state,
           s.attempt, s.attempt, 1, 1, CASE s.state WHEN 'completed' THEN 'done' WHEN 'running' THEN 'unknown'
                                                    ELSE 'none' END,
           CASE WHEN s.state = 'running' THEN p.complete_by END, 0, 0, 0, '{}', p.priority
      FROM orders_orderprocess AS p,
           LATERAL (SELECT name, position,
                           CASE WHEN p.process_state = 'processed' THEN 'completed'
                                WHEN p.process_state = 'processing' AND name = 'mix' THEN 'running'
                                ELSE 'not_started' END AS state,
                           CASE WHEN p.process_state = 'processed'
                                  OR p.process_state = 'processing' AND name = 'mix' THEN 1 ELSE 0 END AS attempt
                      FROM (VALUES ('mix', 0), ('heat-oven', 1), ('bake', 2), ('box', 3)) AS v(name, position)) AS s
    """,
    """
    INSERT INTO orders_event (order_id, kind, step, attempt, actor_kind, actor_name, detail)
    SELECT order_id, 'step_completed', name, 1, 'scheduler', 'scheduler:1', '{}' FROM orders_stepstate
    """,
    # 10,000 requests that are leased, or wait for the oven, and a few that the kitchen could take
    """
    INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, compensates, key, reverses,
                                     body, complete_by, priority, deliveries, leased_by, leased_until)
    SELECT gen_random_uuid(), n, 'mix', CASE WHEN n % 500 = 0 OR n % 2 = 1 THEN 'kitchen' ELSE 'oven' END, 'mix-it',
           1, false, n::text, '', jsonb_build_object('data', repeat('x', 300)), now() + interval '1 hour',
           n % 10, n % 2,
           CASE WHEN n % 2 = 1 THEN 'agents:1' END,
           CASE WHEN n % 2 = 1 THEN now() + (n - 20) * interval '1 hour' END
      FROM generate_series(1, 10000) AS n
    """,
    """
    INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
    SELECT gen_random_uuid(), n, 1, false, 'done', '{}', 1, 'agents:1' FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO orders_submissionmessage (order_id, client, body)
    SELECT gen_random_uuid(), 'guest', '{}' FROM generate_series(1, 10000)
    """,
    """
    INSERT INTO orders_submissionkey (client, key, body_hash, order_id)
    SELECT 'guest', n::text, '', gen_random_uuid() FROM generate_series(1, 10000) AS n
    """,
    """
    WITH causes AS (
        INSERT INTO orders_alertgroup (kind, agent, code, pattern, acknowledged_by)
        VALUES ('step_failed', '', 'no', 'no', '') RETURNING id
    )
    INSERT INTO orders_alert (group_id, order_id, kind, code, message, step, agent, closed_by, resolution, closed_at)
    SELECT causes.id, gen_random_uuid(), 'step_failed', 'no', 'no', '', '', 'ada', 'done',
           CASE WHEN n % 100 > 0 THEN now() END
      FROM causes, generate_series(1, 10000) AS n
    """,
]
BIG = (
    "orders_order",
    "orders_orderprocess",
    "orders_stepstate",
    "orders_event",
    "orders_agentrequest",
    "orders_agentreply",
    "orders_submissionmessage",
    "orders_submissionkey",
    "orders_alert",
)


@pytest.fixture(scope="module", autouse=True)
def full_tables(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Fills, commits and analyses the tables once for all tests here; each test rolls back its changes.

    They are vacuumed, too, as autovacuum would do at some moment: an index answers alone only for pages it has seen.
    """
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            for statement in FILL:
                cursor.execute(statement)
                # Otherwise the next foreign key checks keep the plan that they made while this table was empty.
                cursor.execute("ANALYZE orders_orderprocess")
        run(f"VACUUM (ANALYZE) {', '.join(BIG)}")
        yield
        run(f"TRUNCATE {', '.join(BIG)}, orders_alertgroup CASCADE")


def forget_statistics() -> None:
    """Has the server know no more of the tables than when they were new, until the test's transaction ends."""
    tables = [list(BIG)]
    run("DELETE FROM pg_statistic WHERE starelid = ANY(%s::text[]::regclass[])", tables)
    run("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid = ANY(%s::text[]::regclass[])", tables)


NO_PLAN = ("SET ", "SAVEPOINT ", "RELEASE ")
"""How statements begin that have no plan."""


class Explained(NamedTuple):
    """A statement that an act has run; `is_prepared`: the server plans it once, for whatever parameters."""

    sql: str
    params: Any
    is_prepared: bool

    @classmethod
    def of(cls, sql: str, params: Any, context: dict[str, Any]) -> Self:
        """The statement that Django passes to an execute wrapper."""
        return cls(sql, params, not isinstance(context["cursor"].cursor, psycopg.ClientCursor))

    def explain(self, options: str) -> dict[str, Any]:
        """How the server runs it, with the same kind of plan."""
        if not self.is_prepared:
            ((explained,),) = fetch(f"EXPLAIN ({options}FORMAT JSON) {self.sql}", self.params)
        else:
            query = PostgresQuery(Transformer(connection.connection))
            query.convert(self.sql, self.params)
            names = fetch("SELECT format_type(oid, NULL) FROM unnest(%s::oid[]) AS oid", [list(query.types)])
            types = ", ".join("unknown" if name == "-" else name for (name,) in names)
            order = query._order
            values = [self.params[name] for name in order] if order else list(self.params or ())
            places = f"({', '.join(['%s'] * len(values))})" if values else ""
            with connection.cursor() as cursor:
                cursor.execute(f"PREPARE explained {f'({types})' if types else ''} AS {query.query.decode()}")
                cursor.execute(f"EXPLAIN ({options}FORMAT JSON) EXECUTE explained{places}", values)
                ((explained,),) = cursor.fetchall()
                cursor.execute("DEALLOCATE explained")
        (tree,) = explained if isinstance(explained, list) else json.loads(explained)
        return dict(tree)


def ran_by(act: Callable[[], object]) -> list[Explained]:
    """The statements that an act runs, without those that have no plan."""
    ran: list[Explained] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        ran.append(Explained.of(sql, params, context))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        act()
    return [statement for statement in ran if not statement.sql.lstrip().startswith(NO_PLAN)]


class Plan:
    """How PostgreSQL would run one statement."""

    def __init__(self, statement: Explained) -> None:
        self.sql = statement.sql
        self.tree = statement.explain("")

    def nodes(self) -> Iterator[dict[str, Any]]:
        waiting = [self.tree["Plan"]]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.get("Plans", [])

    @property
    def indexes(self) -> set[str]:
        return {node["Index Name"] for node in self.nodes() if "Index Name" in node}

    @property
    def scanned_whole(self) -> set[str]:
        return {
            node["Relation Name"]
            for node in self.nodes()
            if node["Node Type"] == "Seq Scan" and node["Relation Name"] in BIG
        }

    @property
    def sorts(self) -> bool:
        return any(node["Node Type"] == "Sort" for node in self.nodes())


OF_PAUSES = {"a_step_has_one_pause_at_most", "orders_orderprocess_pkey"}
"""Indexes in the plans of statements that claim requests, which are not read while no step is paused."""


def plans_of(act: Callable[[], object]) -> list[Plan]:
    """The plans of all statements that an act runs, in their order, under the settings that it has made."""
    return [Plan(statement) for statement in ran_by(act)]


def blocks_of(act: Callable[[], object]) -> int:
    """The blocks that the statements of an act read, each run once more after it, under the settings it has made."""
    blocks = 0
    with transaction.atomic():
        for statement in ran_by(act):
            plan = statement.explain("ANALYZE, BUFFERS, ")["Plan"]
            blocks += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return blocks


def some_orders(number: int) -> list[UUID]:
    return list(OrderProcess.objects.filter(process_state="processing").values_list("pk", flat=True)[:number])


def some_leases(number: int) -> list[AgentRequest]:
    return list(AgentRequest.objects.filter(leased_by="agents:1").order_by("-id")[:number])
