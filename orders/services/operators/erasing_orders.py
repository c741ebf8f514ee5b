"""Erases customers from their orders: the statements for a few orders at a time, archived or not.

Requests, results and details are emptied rather than searched, because a remote service may have written anything into
them. Rows, amounts and times stay.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from orders.business import registry
from orders.engine.runtime.brief_batches import Chunk
from orders.engine.runtime.sql import fetch, run
from orders.fields.email import ERASED
from orders.services.customer_terms import LOCK
from orders.services.operators.erasing_mentions import replaced

_HERS = """
    SELECT o.id, coalesce(p.process_state IN ('processed', 'compensated'), false) AS is_finished
      FROM orders_order AS o LEFT JOIN orders_orderprocess AS p ON p.order_id = o.id
     WHERE (lower(o.email) = lower(%(email)s) OR o.customer_id = ANY(%(accounts)s)) AND o.email <> %(erased)s
     UNION ALL
    SELECT order_id, true FROM orders_archivedorder
     WHERE (lower(email) = lower(%(email)s) OR customer_id = ANY(%(accounts)s)) AND email <> %(erased)s
"""
_NOT_INSERTED = """
    SELECT order_id, false FROM orders_submissionmessage
     WHERE strpos(lower(body::text), lower(%(quoted)s)) > 0 OR client = ANY(%(clients)s)
     UNION ALL
    SELECT order_id, false FROM orders_setaside
     WHERE replayed_at IS NULL AND (strpos(lower(body::text), lower(%(quoted)s)) > 0 OR client = ANY(%(clients)s))
"""
_STATEMENTS = (
    """DELETE FROM orders_customerterm WHERE email IN (
              SELECT lower(email) FROM orders_order WHERE id = ANY(%(ids)s)
               UNION SELECT lower(email) FROM orders_archivedorder WHERE order_id = ANY(%(ids)s))""",
    # An email that an operator corrected may be another customer's, who is still to be found.
    """DELETE FROM orders_customerterm AS term
        WHERE email IN (
              SELECT lower(detail #>> '{before,email}') FROM orders_event
               WHERE order_id = ANY(%(ids)s) AND kind = 'edited'
               UNION SELECT lower(event #>> '{detail,before,email}')
                       FROM orders_archivedorder, jsonb_array_elements(document -> 'events') AS event
                      WHERE order_id = ANY(%(ids)s) AND event ->> 'kind' = 'edited')
          AND NOT EXISTS (SELECT FROM orders_order WHERE lower(email) = term.email)
          AND NOT EXISTS (SELECT FROM orders_archivedorder WHERE lower(email) = term.email)""",
    f"""UPDATE orders_order
           SET email = %(erased)s::text, data = '{{}}', ship_to = NULL, payment_method = '', attributes = '{{}}',
               reference = '', metadata = NULL, subject = {replaced("subject")}, title = {replaced("title")}
         WHERE id = ANY(%(ids)s)""",
    f"UPDATE orders_orderline SET title = {replaced('title')} WHERE order_id = ANY(%(ids)s) AND title ~* %(pattern)s",
    """UPDATE orders_stepstate SET request = '{}', original = NULL, next_request = NULL, result = NULL, error = NULL,
              awaits = awaits - 'reference'
        WHERE order_id = ANY(%(ids)s)""",
    "UPDATE orders_event SET detail = '{}' WHERE order_id = ANY(%(ids)s)",
    f"UPDATE orders_statusmessage SET body = '{{}}', queue = {replaced('queue')} WHERE order_id = ANY(%(ids)s)",
    f"""UPDATE orders_orderprocess SET reply_to = {replaced("reply_to")}
         WHERE order_id = ANY(%(ids)s) AND reply_to ~* %(pattern)s""",
    "UPDATE orders_alert SET message = 'erased', resolution = '' WHERE order_id = ANY(%(ids)s)",
    "UPDATE orders_ordernote SET text = 'erased' WHERE order_id = ANY(%(ids)s)",
    "UPDATE orders_setaside SET body = '{}', reason = 'erased' WHERE order_id = ANY(%(ids)s)",
    "UPDATE orders_bulkitem SET result = 'erased' WHERE order_id = ANY(%(ids)s) AND result <> ''",
    """UPDATE orders_approvalrequest
          SET parameters = '{}', reason = '', note = '', result = 'erased',
              state = CASE state WHEN 'waiting' THEN 'lapsed' ELSE state END, decided_at = coalesce(decided_at, now())
        WHERE order_id = ANY(%(ids)s)""",
    """UPDATE orders_submissionkey SET key = 'erased ' || order_id
        WHERE order_id = ANY(%(ids)s) AND key ~* %(pattern)s""",
    """UPDATE orders_outgoingmessage SET recipient = %(erased)s::text, arguments = '{}', error = ''
        WHERE order_id = ANY(%(ids)s)""",
    f"""UPDATE orders_archivedorder SET email = %(erased)s::text, attributes = '{{}}', reference = '', metadata = NULL,
               subject = {replaced("subject")}
         WHERE order_id = ANY(%(ids)s)""",
    """UPDATE orders_archivedorder SET document = jsonb_build_object(
              'process', (document -> 'process') || jsonb_build_object('reply_to',
                  regexp_replace(coalesce(document #>> '{process,reply_to}', ''), %(pattern)s, %(short)s, 'gi')),
              'lines', (SELECT coalesce(jsonb_agg(line || jsonb_build_object('title',
                  regexp_replace(line ->> 'title', %(pattern)s, %(short)s, 'gi'))), '[]')
                  FROM jsonb_array_elements(document -> 'lines') AS line),
              'order', (document -> 'order') || jsonb_build_object(
                  'email', %(erased)s::text, 'data', '{}'::jsonb, 'ship_to', NULL, 'payment_method', '',
                  'attributes', '[]'::jsonb, 'reference', '', 'metadata', NULL, 'subject', subject,
                  'title', regexp_replace(coalesce(document #>> '{order,title}', ''), %(pattern)s, %(short)s, 'gi')),
              'steps', (SELECT coalesce(jsonb_agg(step || '{"request": {}, "original": null, "result": null,
                  "error": null, "awaits": null}'), '[]') FROM jsonb_array_elements(document -> 'steps') AS step),
              'events', (SELECT coalesce(jsonb_agg(event || '{"detail": {}}'), '[]')
                  FROM jsonb_array_elements(document -> 'events') AS event),
              'statuses', '[]'::jsonb, 'alerts', '[]'::jsonb)
        WHERE order_id = ANY(%(ids)s)""",
)
# What operators did to her orders: what was entered and changed may be her name and address.
_ACTS = """
    SELECT orders_audit_amend(id, actor, target, 'erased', '', NULL, NULL) FROM orders_auditentry
     WHERE target = ANY(%(targets)s)
"""


def find_orders(email: str, accounts: Sequence[int]) -> list[tuple[UUID, bool]]:
    """The orders and submissions of a customer that are not erased yet, and whether each is finished."""
    parameters = {
        "email": email,
        "accounts": list(accounts),
        "erased": ERASED,
        "quoted": json.dumps(email, ensure_ascii=False),
        "clients": [f"user:{account}" for account in accounts],
    }
    return fetch(f"{_HERS} UNION ALL {_NOT_INSERTED}", parameters)


def find_names(email: str, accounts: Sequence[int]) -> set[str]:
    """What names a customer in the orders that are not erased yet, as their kinds say: her name and street, say; also
    what they were before an operator edited them."""
    # An order from before there were data has the same parts as columns.
    paths = sorted({path for kind in registry.kinds() for path in kind.personal})
    rows = fetch(
        f"""
        WITH hers AS ({_HERS}), data AS (
            SELECT coalesce(o.data, to_jsonb(o)) AS data FROM orders_order AS o WHERE o.id IN (SELECT id FROM hers)
             UNION ALL
            SELECT coalesce(nullif(document #> '{{order,data}}', 'null'), document -> 'order')
              FROM orders_archivedorder WHERE order_id IN (SELECT id FROM hers)
             UNION ALL
            SELECT detail -> 'before' FROM orders_event
             WHERE kind = 'edited' AND order_id IN (SELECT id FROM hers)
             UNION ALL
            SELECT event #> '{{detail,before}}'
              FROM orders_archivedorder, jsonb_array_elements(document -> 'events') AS event
             WHERE order_id IN (SELECT id FROM hers) AND event ->> 'kind' = 'edited'
        )
        SELECT DISTINCT data #>> string_to_array(path, '.') FROM data, unnest(%(paths)s::text[]) AS paths (path)
        """,
        {"email": email, "accounts": list(accounts), "erased": ERASED, "paths": paths},
    )
    return {text for row in rows for text in row if text}


def choose_orders(email: str, accounts: Sequence[int], after: UUID, size: int) -> Chunk:
    """The next finished orders of a customer that are not erased yet, by id."""
    rows = fetch(
        f"SELECT id FROM ({_HERS}) AS hers WHERE is_finished AND id > %(after)s ORDER BY id LIMIT %(size)s",
        {"email": email, "accounts": list(accounts), "erased": ERASED, "after": after, "size": size},
    )
    ids = [row[0] for row in rows]
    return Chunk(keys=ids, last=ids[-1] if len(ids) == size else None)


def erase_orders(ids: Sequence[UUID], values: Mapping[str, Any]) -> int:
    """Erases the customer from these orders, whose processes it locks; returns how many there are.

    `values` are `pattern`, which matches what names her, and `short`, what stands in its place.
    """
    fetch(LOCK)  # so that nobody learns the terms of her orders again at the same moment
    fetch(
        "SELECT order_id FROM orders_orderprocess WHERE order_id = ANY(%s) ORDER BY order_id FOR UPDATE",
        [list(ids)],
    )
    parameters = {**values, "ids": list(ids), "erased": ERASED}
    for statement in _STATEMENTS:
        run(statement, parameters)
    run(_ACTS, {"targets": [f"order {order_id}" for order_id in ids]})
    return len(ids)
