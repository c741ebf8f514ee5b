"""Which orders are still as their readers know them, of many readers and orders at once."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch_frequent
from orders.selectors.customer_order import version_of

VERSIONS = """
    SELECT asked.position, account.id, newest.event, process.process_state
      FROM unnest(%(digests)s::text[], %(order_ids)s::uuid[]) WITH ORDINALITY AS asked (digest, order_id, position)
      JOIN orders_apitoken AS token
        ON token.digest = asked.digest AND token.expires_at > %(now)s::timestamptz
       AND token.last_used_at > %(noted_since)s::timestamptz AND token.version = %(version)s::text
      JOIN auth_user AS account ON account.id = token.user_id AND account.is_active
      JOIN orders_order AS placed ON placed.id = asked.order_id AND placed.customer_id = account.id
      JOIN orders_orderprocess AS process ON process.order_id = placed.id
     CROSS JOIN LATERAL (SELECT max(id) AS event FROM orders_event WHERE order_id = placed.id) AS newest
"""


class Reading(NamedTuple):
    """Somebody with a token, of which this is the hash, reads an order."""

    digest: str
    order_id: UUID


class Seen(NamedTuple):
    """Whose token it is, and the order's version."""

    account_id: int
    version: str


def versions_seen(
    readings: Sequence[Reading], *, now: datetime, noted_since: datetime, version: str
) -> Sequence[Seen | None]:
    """What each of them sees, in one statement. None if it takes more than that to find out: if the token is not valid,
    its use was last noted before `noted_since`, or it is pinned to another `version` of the API; or if the account has
    no such order in the state store."""
    rows = fetch_frequent(
        VERSIONS,
        {
            "digests": [reading.digest for reading in readings],
            "order_ids": [reading.order_id for reading in readings],
            "now": now,
            "noted_since": noted_since,
            "version": version,
        },
    )
    seen: list[Seen | None] = [None] * len(readings)
    for position, account_id, last_event, state in rows:
        seen[position - 1] = Seen(account_id, version_of(last_event or 0, state))
    return seen
