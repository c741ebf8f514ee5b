"""Who last owned a cause that nobody owns now: an owner loses it when it has ended, and an outage may come back."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch
from orders.models import AlertGroup
from orders.vocabulary import AlertKind

REMEMBERED = timedelta(days=1)
"""How long ago somebody may have become the owner."""

_LAST = """
    SELECT e.after ->> 'owner', e.at
      FROM orders_alertgroup AS g
     CROSS JOIN LATERAL (
           SELECT at, after FROM orders_auditentry
            WHERE target = 'group ' || g.id AND act IN ('take', 'assign') AND allowed AND at >= %(since)s
            ORDER BY at DESC LIMIT 1
     ) AS e
     WHERE g.id = %(group)s OR (%(is_outage)s AND g.kind = 'outage' AND g.agent = %(agent)s)
     ORDER BY e.at DESC LIMIT 1
"""


@dataclass(frozen=True, kw_only=True)
class LastOwner:
    """Somebody who became the owner of a cause at a time."""

    name: str
    at: datetime


def last_owner(group: AlertGroup, *, now: datetime) -> LastOwner | None:
    """Who last owned a cause, or another outage of the same agent, whatever its code; None if somebody owns it, or has
    given it back. One statement, by the index of targets."""
    if group.owner_id is not None:
        return None
    terms = {"group": group.pk, "is_outage": group.kind == AlertKind.OUTAGE, "agent": group.agent}
    for name, at in fetch(_LAST, {**terms, "since": now - REMEMBERED}):
        return LastOwner(name=name, at=at) if name else None
    return None
