"""Leadership (V6): a lease row with a term, which is checked in the transaction of every write of a leader (I6).

A session lock would not do: its holder can lose the session without noticing, and go on writing.
"""

import json
from collections.abc import Mapping
from typing import Any

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.sql import fetch, run

SWEEPS_KEPT = 200
"""The number of sweeps that are kept: enough for an operator to look back over a bad hour, in a small table."""
_COUNTS = ("found", "recovered", "escalated", "steps_timed_out")


def acquire(name: str, *, holder: str, seconds: float) -> int | None:
    """Takes the lease if it is free or has lapsed; returns the new term, or None while somebody else leads.

    Safe against another taker: the row is locked by the update, and its condition is checked again once it is.
    """
    run(
        "INSERT INTO orders_leaderlease (name, term, last_sweep) VALUES (%s, 0, '{}') ON CONFLICT (name) DO NOTHING",
        [name],
    )
    rows = fetch(
        """
        UPDATE orders_leaderlease
           SET holder = %s, term = term + 1, expires_at = clock_timestamp() + %s * interval '1 second'
         WHERE name = %s AND (holder IS NULL OR expires_at < clock_timestamp())
     RETURNING term
        """,
        [holder, seconds, name],
    )
    return int(rows[0][0]) if rows else None


def check(name: str, *, term: int) -> None:
    """Locks the lease's row for the rest of the transaction. Raises `LeadershipLost` if the term is over.

    The share lock makes a successor wait until this transaction has ended, so two terms never write at once.
    """
    if not fetch("SELECT 1 FROM orders_leaderlease WHERE name = %s AND term = %s FOR SHARE", [name, term]):
        raise LeadershipLost(f"term {term} of {name} is over")


def renew(name: str, *, term: int, seconds: float, report: dict[str, Any]) -> None:
    """Extends the lease and records what the last sweep did. Raises `LeadershipLost` if the term is over."""
    renewed = run(
        """
        UPDATE orders_leaderlease
           SET expires_at = clock_timestamp() + %s * interval '1 second', swept_at = clock_timestamp(),
               last_sweep = %s::jsonb
         WHERE name = %s AND term = %s AND holder IS NOT NULL
        """,
        [seconds, json.dumps(report), name, term],
    )
    if not renewed:
        raise LeadershipLost(f"term {term} of {name} is over")


def record_sweep(name: str, *, term: int, report: Mapping[str, int]) -> None:
    """Keeps what a sweep found, for operators, and deletes all but the newest; does nothing once the term is over."""
    run(
        """
        WITH kept AS (
            INSERT INTO orders_sweeprecord (holder, term, found, recovered, escalated, steps_timed_out)
            SELECT holder, term, %s, %s, %s, %s FROM orders_leaderlease
             WHERE name = %s AND term = %s AND holder IS NOT NULL
            RETURNING id)
        DELETE FROM orders_sweeprecord WHERE id <= (SELECT id - %s FROM kept)
        """,
        [*(report.get(count, 0) for count in _COUNTS), name, term, SWEEPS_KEPT],
    )


def release(name: str, *, term: int) -> None:
    """Gives the lease up, so that a successor does not have to wait until it lapses."""
    run(
        "UPDATE orders_leaderlease SET holder = NULL, expires_at = NULL WHERE name = %s AND term = %s",
        [name, term],
    )
