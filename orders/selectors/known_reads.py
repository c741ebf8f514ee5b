"""Which orders are still as their readers know them, of many readers and orders at once."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch_frequent
from orders.models.access import USABLE_AT_ONCE
from orders.selectors.customer_order import version_of

VERSIONS = f"""
    SELECT asked.position, account.id, token.version, newest.event, process.process_state
      FROM unnest(%(digests)s::text[], %(order_ids)s::uuid[]) WITH ORDINALITY AS asked (digest, order_id, position)
      JOIN orders_apitoken AS token ON token.digest = asked.digest
      JOIN auth_user AS account ON account.id = token.user_id AND {USABLE_AT_ONCE}
      JOIN orders_order AS placed ON placed.id = asked.order_id AND placed.customer_id = account.id
      JOIN orders_orderprocess AS process ON process.order_id = placed.id
     CROSS JOIN LATERAL (SELECT max(id) AS event FROM orders_event WHERE order_id = placed.id) AS newest
"""


class Reading(NamedTuple):
    """Somebody with a token, of which this is the hash, reads an order."""

    digest: str
    order_id: UUID


class Seen(NamedTuple):
    """Whose token it is, the version of the API that it is pinned to, and the order's version."""

    account_id: int
    api_version: str
    version: str


def versions_seen(readings: Sequence[Reading], *, usable: Mapping[str, object]) -> Sequence[Seen | None]:
    """What each of them sees, in one statement. None if it takes more than that to find out: if the token is not
    `USABLE_AT_ONCE`, whose parameters are `usable`; or if the account has no such order in the state store."""
    rows = fetch_frequent(
        VERSIONS,
        {
            "digests": [reading.digest for reading in readings],
            "order_ids": [reading.order_id for reading in readings],
            **usable,
        },
    )
    seen: list[Seen | None] = [None] * len(readings)
    for position, account_id, api_version, last_event, state in rows:
        seen[position - 1] = Seen(account_id, api_version, version_of(last_event or 0, state))
    return seen
