"""Puts alert groups out of sight until a time or until they grow, and brings them back by itself.

No messages are sent about a snoozed group. `wake_due` runs where new alerts are notified, so a group that comes back is
told of in the same pass.
"""

from datetime import datetime, timedelta

from django.db import transaction

from orders.engine.runtime.sql import database_now, fetch
from orders.models import Alert, AlertGroup
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.services.operators.alerts import lock_group
from orders.vocabulary import AlertKind

LONGEST = timedelta(days=7)
MOST_GROWTH = 100_000
"""The most orders by which a group may be said to grow."""

_DUE = """
    SELECT g.id
      FROM orders_alertgroup AS g
     WHERE g.snoozed_until IS NOT NULL
       AND (g.snoozed_until <= clock_timestamp()
            OR g.snooze_most <= (SELECT count(*) FROM (SELECT FROM orders_alert AS a
                                                        WHERE a.group_id = g.id AND a.closed_at IS NULL
                                                        LIMIT g.snooze_most) AS few))
     ORDER BY g.id
"""


def snooze(
    *,
    group_id: int,
    actor: Actor,
    until: datetime | None = None,
    grows_by: int | None = None,
    doubles: bool = False,
    reason: str = "",
) -> Result:
    """Snoozes a group until a time, until so many more alerts are open, or until they have doubled: what comes first.

    Without a time it comes back after `LONGEST` at the latest. Raises `NoSuchGroupError`.
    """
    with transaction.atomic():
        group = lock_group(group_id)
        now, count = database_now(), Alert.objects.filter(group=group, closed_at__isnull=True).count()
        problem = _refusal(group, now=now, count=count, until=until, grows_by=grows_by, doubles=doubles)
        if problem is not None:
            return _record(group, problem, actor=actor, act="snooze", reason=reason)
        most = min(count + (grows_by or MOST_GROWTH), 2 * count if doubles else count + MOST_GROWTH)
        group.snoozed_at, group.snoozed_by = now, actor.name
        group.snoozed_until = until or now + LONGEST
        group.snooze_most = most if grows_by or doubles else None
        group.woken_at, group.woken_why = None, ""
        group.save(
            update_fields=[
                *("snoozed_at", "snoozed_by", "snoozed_until", "snooze_most", "woken_at", "woken_why")
            ]
        )
        grown = f", or when {group.snooze_most} orders are open" if group.snooze_most else ""
        result = done(f"It is snoozed: it comes back at {_moment(group.snoozed_until)}{grown}.")
        return _record(group, result, actor=actor, act="snooze", reason=reason, after=_facts(group))


def wake(*, group_id: int, actor: Actor, reason: str = "") -> Result:
    """Ends the snooze of a group. Raises `NoSuchGroupError`."""
    with transaction.atomic():
        group = lock_group(group_id)
        if group.snoozed_until is None:
            return already("It is not snoozed.")
        before = _facts(group)
        _clear(group)
        result = done("It is back in the inbox.")
        return _record(group, result, actor=actor, act="wake", reason=reason, before=before)


def wake_due() -> list[AlertGroup]:
    """Brings back the groups whose time has come or which have grown, and says why in `woken_why`."""
    groups = []
    for (group_id,) in fetch(_DUE):
        with transaction.atomic():
            locked = AlertGroup.objects.select_for_update(skip_locked=True, no_key=True)
            group = locked.filter(pk=group_id, snoozed_until__isnull=False).first()
            if group is not None and _wake(group):
                groups.append(group)
    return groups


def _wake(group: AlertGroup) -> bool:
    """Brings a group back that this transaction has locked, unless somebody has snoozed it anew. True if it is back."""
    assert group.snoozed_until is not None and group.snoozed_at is not None
    now = database_now()
    count = Alert.objects.filter(group=group, closed_at__isnull=True).count()
    has_grown = group.snooze_most is not None and count >= group.snooze_most
    if not has_grown and group.snoozed_until > now:
        return False
    whose = f"{group.snoozed_by[:60]} snoozed it at {_moment(group.snoozed_at)}"
    why = f"it has grown to {count} open orders" if has_grown else "the time is up"
    _clear(group, woken_at=now, woken_why=f"{whose}, and {why}.")
    return True


def _clear(group: AlertGroup, *, woken_at: datetime | None = None, woken_why: str = "") -> None:
    group.snoozed_at = group.snoozed_until = group.snooze_most = None
    group.snoozed_by, group.woken_at, group.woken_why = "", woken_at, woken_why
    group.save(
        update_fields=[*("snoozed_at", "snoozed_by", "snoozed_until", "snooze_most", "woken_at", "woken_why")]
    )


def _refusal(
    group: AlertGroup,
    *,
    now: datetime,
    count: int,
    until: datetime | None,
    grows_by: int | None,
    doubles: bool,
) -> Result | None:
    if group.snoozed_until is not None:
        return already(
            f"Already snoozed by {group.snoozed_by}, until {_moment(group.snoozed_until)}. "
            "Bring it back first if it should be another time."
        )
    if not count:
        return refused("Nothing of this cause is open, so there is nothing to snooze.")
    if until is None and not grows_by and not doubles:
        return refused("Say until when: a time, or by how much it may grow.")
    if (grows_by or doubles) and not AlertKind.are_about_orders(group.kind):
        return refused("This cause has no orders that could grow in number. Snooze it until a time.")
    if until is not None and not now < until <= now + LONGEST:
        return refused(f"Choose a time within the next {LONGEST.days} days.")
    return None


def _facts(group: AlertGroup) -> dict[str, str | int | None]:
    until = group.snoozed_until.isoformat() if group.snoozed_until else None
    return {"snoozed_by": group.snoozed_by, "snoozed_until": until, "snooze_most": group.snooze_most}


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _record(
    group: AlertGroup,
    result: Result,
    *,
    actor: Actor,
    act: str,
    reason: str,
    before: dict[str, str | int | None] | None = None,
    after: dict[str, str | int | None] | None = None,
) -> Result:
    if result.status is not ResultStatus.ALREADY:
        audit.record(
            actor=actor,
            act=act,
            target=f"group {group.pk}",
            result=result.message,
            reason=reason,
            allowed=result.status is ResultStatus.DONE,
            before=before,
            after=after,
        )
    return result
