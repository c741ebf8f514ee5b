"""Whether anything that the console shows has changed: a version that differs when it has."""

from orders.engine.runtime.sql import fetch

BEAT = 5
"""Seconds after which the version changes also when nothing happens: heartbeats and sweeps are shown, too."""


def pulse() -> str:
    """The version of everything: the last event, alert, audited act, bulk act, and the circuits. One statement."""
    ((events, alerts, told, acts, bulk, circuits, beat),) = fetch(
        """
        SELECT (SELECT id FROM orders_event ORDER BY id DESC LIMIT 1),
               (SELECT id FROM orders_alert ORDER BY id DESC LIMIT 1),
               (SELECT id FROM orders_alertdelivery ORDER BY id DESC LIMIT 1),
               (SELECT id FROM orders_auditentry ORDER BY id DESC LIMIT 1),
               (SELECT extract(epoch FROM max(acted_at))::bigint FROM orders_bulkaction WHERE state = 'running'),
               (SELECT string_agg(left(state, 1) || openings, '' ORDER BY agent) FROM orders_circuit),
               extract(epoch FROM clock_timestamp())::bigint / %s
        """,
        [BEAT],
    )
    return "-".join(str(part or 0) for part in (events, alerts, told, acts, bulk, circuits, beat))
