"""Who else is at an order or a cause: a sign for people, and no lock. See docs/adr/0071.

What keeps data right is elsewhere: each act locks its rows and looks at them anew.
"""

from dataclasses import dataclass

from orders.engine.runtime.sql import fetch, run

HELD = 30
"""Seconds after which somebody whose page has not been heard of is no longer there."""

_LOOK = """
    WITH here AS (
        INSERT INTO orders_presence (kind, target, act, operator)
        VALUES (%(kind)s, %(target)s, %(act)s, %(operator)s)
        ON CONFLICT (kind, target, operator, act) DO UPDATE
           SET since = CASE WHEN orders_presence.seen_at < clock_timestamp() - %(held)s * interval '1 second'
                            THEN clock_timestamp() ELSE orders_presence.since END,
               seen_at = clock_timestamp()
    )
"""
_OTHERS = """
    SELECT DISTINCT ON (operator) operator, act, extract(epoch FROM clock_timestamp() - since)::float
      FROM orders_presence
     WHERE kind = %(kind)s AND target = %(target)s AND operator <> %(operator)s
       AND seen_at >= clock_timestamp() - %(held)s * interval '1 second'
     ORDER BY operator, act = '', since
"""


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a page is about, and the act that it is the page of, by the name of its url; empty if it is only read."""

    kind: str
    target: str
    act: str = ""


@dataclass(frozen=True, kw_only=True)
class Other:
    """Another person there, for so many seconds, with the act that she is about to do."""

    operator: str
    act: str
    seconds: float


def look(place: Place, *, operator: str) -> list[Other]:
    """Notes that somebody is at a page, and returns who else is there, by name. One statement."""
    return _read(_LOOK + _OTHERS, place, operator)


def others(place: Place, *, operator: str) -> list[Other]:
    """Who else is there. One statement."""
    return _read(_OTHERS, place, operator)


def leave(place: Place, *, operator: str) -> None:
    """Notes that somebody is no longer about to act there, because she has acted."""
    run(
        "DELETE FROM orders_presence WHERE kind = %s AND target = %s AND operator = %s AND act <> ''",
        [place.kind, place.target, operator],
    )


def _read(statement: str, place: Place, operator: str) -> list[Other]:
    values = {
        "kind": place.kind,
        "target": place.target,
        "act": place.act,
        "operator": operator,
        "held": HELD,
    }
    return [Other(operator=name, act=act, seconds=seconds) for name, act, seconds in fetch(statement, values)]
