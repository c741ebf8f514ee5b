"""The accounts, tokens and orders that `bench.rest` asks for, and the requests that do so."""

import json
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from bench import clients, server
from orders.access import api_tokens
from orders.api.requests import etag
from orders.business.registry import workflows
from orders.demo import loading
from orders.selectors.orders import order_versions
from orders.vocabulary import TokenScope
from tests.support.order_bodies import order_body

ACCOUNTS = 11
SHARE = 100
"""Orders of each account but the first, which has those of the list."""

# `n` counts an account's orders, the newest last. Every second one is finished.
ORDERS = """
CREATE TEMP TABLE made AS
SELECT n, gen_random_uuid() AS order_id, now() - make_interval(mins => %(count)s - n) AS at, n %% 2 = 0 AS is_finished
  FROM generate_series(1, %(count)s) AS n;
INSERT INTO orders_order (id, customer_id, subject, title, email, currency, total, attributes, data, payment_method,
       placed_at)
SELECT order_id, %(account)s, '', '2 posters', 'bench@example.com', 'EUR', 12700, '{}', %(data)s, 'card_ok', at
  FROM made;
INSERT INTO orders_orderline (order_id, sku, title, quantity, unit_price)
SELECT order_id, line.sku, line.title, line.quantity, line.unit_price
  FROM made, (VALUES ('tidal-lines', 'Tidal Lines', 2, 3900), ('first-sun', 'First Sun', 1, 4900))
       AS line (sku, title, quantity, unit_price);
INSERT INTO orders_orderprocess (order_id, workflow, version, fingerprint, goal, process_state, failure_count, overruns,
       priority, reply_to, announced, created_at, started_at, finished_at, not_before)
SELECT order_id, %(workflow)s, %(version)s, '', 'complete', CASE WHEN is_finished THEN 'processed' ELSE 'pending' END,
       0, 0, 5, '', true, at, at, CASE WHEN is_finished THEN at + interval '3 s' END,
       CASE WHEN NOT is_finished THEN now() + interval '1 day' END
  FROM made;
INSERT INTO orders_stepstate (order_id, name, position, agent, state, attempt, answered, generation,
       compensation_generation, outcome, failure_count, compensation_failure_count, extended_waits, priority, request,
       result, started_at, completed_at)
SELECT order_id, name, number - 1, agent, CASE WHEN is_done THEN 'completed' ELSE 'not_started' END, is_done::int,
       is_done::int, 1, 1, CASE WHEN is_done THEN 'done' ELSE 'none' END, 0, 0, 0, 5, '{"amount": 3900}',
       CASE WHEN is_done THEN '{"id": "x"}'::jsonb END, CASE WHEN is_done THEN at END, CASE WHEN is_done THEN at END
  FROM made
 CROSS JOIN unnest(%(names)s::text[], %(agents)s::text[]) WITH ORDINALITY AS declared (name, agent, number)
 CROSS JOIN LATERAL (SELECT is_finished OR number <= 2 AS is_done) AS done;
INSERT INTO orders_event (order_id, at, kind, step, attempt, actor_kind, actor_name, detail)
SELECT order_id, at, 'dispatched', (%(names)s::text[])[1], 1, 'scheduler', 'scheduler:bench', '{}'
  FROM made CROSS JOIN generate_series(1, 10);
DROP TABLE made;
"""
EMPTIED = "TRUNCATE orders_order, orders_submissionkey, orders_setaside, orders_archivedorder CASCADE"


class Store(NamedTuple):
    """What is in the database: the token of each account, and the versions of the orders of each."""

    tokens: list[str]
    orders: list[dict[UUID, str]]
    sku: str


def fill(count: int) -> Store:
    """Deletes all orders, and stores `count` of one account and `SHARE` of each of the others."""
    server.empty()
    loading.load(settings.CONFIG.var_dir)
    (workflow,) = workflows().values()
    tokens, orders = [], []
    with connection.cursor() as cursor:
        cursor.execute(EMPTIED)
        for number in range(ACCOUNTS):
            account, _ = User.objects.get_or_create(username=f"bench{number}@example.com")
            api_tokens.revoke_all(account)
            tokens.append(api_tokens.mint(account, scopes=[TokenScope.ORDERS], by="bench")[1])
            values: dict[str, Any] = {
                "account": account.pk,
                "count": SHARE if number else count,
                "data": json.dumps({**order_body(), "lines": []}),
                "workflow": workflow.name,
                "version": workflow.version,
                "names": [step.name for step in workflow.steps],
                "agents": [step.agent for step in workflow.steps],
            }
            for statement in ORDERS.strip().split(";\n"):
                cursor.execute(statement, values)
            cursor.execute("SELECT id FROM orders_order WHERE customer_id = %s", [account.pk])
            orders.append(order_versions([order_id for (order_id,) in cursor.fetchall()]))
        cursor.execute("VACUUM ANALYZE")
    connection.close()
    return Store(tokens, orders, order_body()["lines"][0]["sku"])


def reads(store: Store, *, has_tag: bool = False, wait: int = 0) -> list[bytes]:
    """Reads of each order of all accounts but the first, with the tag of its version if `has_tag`."""
    prefer = {"Prefer": f"wait={wait}"} if wait else {}
    return [
        request(
            f"GET /api/v1/orders/{order_id}",
            token,
            **prefer,
            **({"If-None-Match": etag(version)} if has_tag else {}),
        )
        for rank in range(SHARE)
        for token, versions in list(zip(store.tokens, store.orders, strict=True))[1:]
        for order_id, version in [list(versions.items())[rank]]
    ]


def lists(store: Store) -> list[bytes]:
    """The first page of 50 of the account with the most orders."""
    return [request("GET /api/v1/orders?page_size=50", store.tokens[0])]


def orders(store: Store) -> list[bytes]:
    """An order of each account but the first, under a key that no other has."""
    key = {"Idempotency-Key": clients.KEY.decode()}
    body = order_body(lines=[{"sku": store.sku, "quantity": 1}])
    return [request("POST /api/v1/orders", token, body, **key) for token in store.tokens[1:]]


def streams(store: Store) -> list[bytes]:
    """A stream of each unfinished order of all accounts but the first."""
    return [
        request(f"GET /api/v1/orders/{order_id}/stream", token)
        for token, versions in list(zip(store.tokens, store.orders, strict=True))[1:]
        for order_id, version in versions.items()
        if not version.endswith(("-processed", "-compensated"))
    ]


def request(line: str, token: str = "", body: object = None, **headers: str) -> bytes:
    """A request as it is sent. `line` is its method and path."""
    content = b"" if body is None else json.dumps(body).encode()
    names = {"Host": "127.0.0.1", **headers}
    if token:
        names["Authorization"] = f"Token {token}"
    if content:
        names |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
    lines = [f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in names.items()), "", ""]
    return "\r\n".join(lines).encode() + content
