"""A version of everything that the console shows: it differs when anything has changed."""

from orders.engine.runtime.sql import fetch

BEAT = 5
"""Seconds after which the version changes even if nothing happens, because heartbeats and sweeps are shown too."""


def desk_version() -> str:
    """The last event, alert, outgoing message and audited act, bulk actions under way, and circuits. One query."""
    (parts,) = fetch(
        """
        SELECT (SELECT id FROM orders_event ORDER BY id DESC LIMIT 1),
               (SELECT id FROM orders_alert ORDER BY id DESC LIMIT 1),
               (SELECT id FROM orders_outgoingmessage ORDER BY id DESC LIMIT 1),
               (SELECT id FROM orders_auditentry ORDER BY id DESC LIMIT 1),
               (SELECT extract(epoch FROM max(acted_at))::bigint FROM orders_bulkaction WHERE state = 'running'),
               (SELECT string_agg(left(state, 1) || openings, '' ORDER BY agent) FROM orders_circuit),
               extract(epoch FROM clock_timestamp())::bigint / %s
        """,
        [BEAT],
    )
    return "-".join(str(part or 0) for part in parts)
