"""Who else is at an order or a cause: a sign for people, and no lock. See docs/adr/0071.

What keeps data right is elsewhere: each act locks its rows and looks at them anew.
"""

from dataclasses import dataclass

from orders.engine.runtime.sql import fetch, run

HELD = 30
"""Seconds after which somebody whose page has not been heard of is no longer there."""

_LOOK = """
    WITH here AS (
        INSERT INTO orders_presence (kind, target, act, who) VALUES (%(kind)s, %(target)s, %(act)s, %(who)s)
        ON CONFLICT (kind, target, who, act) DO UPDATE
           SET since = CASE WHEN orders_presence.seen_at < clock_timestamp() - %(held)s * interval '1 second'
                            THEN clock_timestamp() ELSE orders_presence.since END,
               seen_at = clock_timestamp()
    )
"""
_OTHERS = """
    SELECT DISTINCT ON (who) who, act, extract(epoch FROM clock_timestamp() - since)::float
      FROM orders_presence
     WHERE kind = %(kind)s AND target = %(target)s AND who <> %(who)s
       AND seen_at >= clock_timestamp() - %(held)s * interval '1 second'
     ORDER BY who, act = '', since
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

    who: str
    act: str
    seconds: float


def look(place: Place, *, who: str) -> list[Other]:
    """Notes that somebody is at a page, and returns who else is there, by name. One statement."""
    return _read(_LOOK + _OTHERS, place, who)


def others(place: Place, *, who: str) -> list[Other]:
    """Who else is there. One statement."""
    return _read(_OTHERS, place, who)


def leave(place: Place, *, who: str) -> None:
    """Notes that somebody is no longer about to act there, because she has acted."""
    run(
        "DELETE FROM orders_presence WHERE kind = %s AND target = %s AND who = %s AND act <> ''",
        [place.kind, place.target, who],
    )


def _read(statement: str, place: Place, who: str) -> list[Other]:
    values = {"kind": place.kind, "target": place.target, "act": place.act, "who": who, "held": HELD}
    return [Other(who=name, act=act, seconds=seconds) for name, act, seconds in fetch(statement, values)]
