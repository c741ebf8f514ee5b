"""Who owns an alert group, and the ticket that it is followed in.

Whoever acts says what she saw; if somebody else was faster, nothing is changed and she is told who. An owner has a
group for as long as it is open: `release_ended` takes it back when it has ended.
"""

from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction

from orders.access.levels import may_operate
from orders.engine.runtime.sql import database_now, fetch
from orders.models import AlertGroup
from orders.models.health import LONGEST_TICKET_URL as LONGEST_TICKET_URL
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, done, refused
from orders.services.operators.alerts import lock_group

ENDED = 600
"""Seconds after its last alert was closed that a cause has ended. A resubmission that fails again takes less."""

_RELEASE = """
    UPDATE orders_alertgroup AS g
       SET owner_id = NULL, owned_at = NULL
     WHERE owner_id IS NOT NULL AND owned_at < clock_timestamp() - %(ended)s * interval '1 second'
       AND NOT EXISTS (SELECT FROM orders_alert AS a WHERE a.group_id = g.id AND a.closed_at IS NULL)
       AND NOT EXISTS (SELECT FROM orders_alert AS a
                        WHERE a.group_id = g.id AND a.closed_at >= clock_timestamp() - %(ended)s * interval '1 second')
    RETURNING id
"""


def take(*, group_id: int, actor: Actor, reason: str = "") -> Result:
    """Makes whoever asks the owner of a group that nobody owns, and acknowledges it. Raises `NoSuchGroupError`."""
    account = _operator(actor.name)
    with transaction.atomic():
        group = lock_group(group_id)
        if account is None:
            result = refused(f"The account {actor.name} is not an operator’s, so it cannot own a cause.")
        elif group.owner_id == account.pk:
            return already("It is yours already.")
        elif group.owner is not None:
            result = refused(f"{_owned(group)} Ask them to hand it over, or assign it to yourself.")
        else:
            return _change_owner(group, account, actor=actor, act="take", reason=reason)
        return _record(group, result, actor=actor, act="take", reason=reason)


def assign(
    *, group_id: int, actor: Actor, owner: str, expected: str | None = None, reason: str = ""
) -> Result:
    """Makes another account the owner of a group, or nobody for an empty name. Raises `NoSuchGroupError`.

    `expected` is the owner that whoever asks has seen; None does not say. If it is another one by now, nothing changes.
    """
    account = _operator(owner) if owner else None
    with transaction.atomic():
        group = lock_group(group_id)
        if group.owner_name == owner:
            return already(f"It already belongs to {owner}." if owner else "Nobody owns it.")
        if expected is not None and group.owner_name != expected:
            result = refused(
                f"{_owned(group)} Nothing has changed." if group.owner else "Nobody owns it any more."
            )
        elif owner and account is None:
            result = refused(f"The account {owner} is not an operator’s, or is closed.")
        else:
            return _change_owner(group, account, actor=actor, act="assign", reason=reason)
        return _record(group, result, actor=actor, act="assign", reason=reason)


def link_ticket(
    *, group_id: int, actor: Actor, url: str, expected: str | None = None, reason: str = ""
) -> Result:
    """Links a group with a ticket, or with none for an empty url. Raises `NoSuchGroupError`."""
    with transaction.atomic():
        group = lock_group(group_id)
        before = group.ticket_url
        if before == url:
            return already("That is its ticket already." if url else "It has no ticket.")
        problem = refusal_of_ticket(url) if url else ""
        if problem:
            return _record(group, refused(problem), actor=actor, act="link ticket", reason=reason)
        if expected is not None and before != expected:
            result = refused(f"Somebody has linked {before} meanwhile." if before else "Its link is gone.")
            return _record(group, result, actor=actor, act="link ticket", reason=reason)
        group.ticket_url = url
        group.save(update_fields=["ticket_url"])
        result = done("The ticket is linked." if url else "The link to the ticket has been removed.")
        changes = {"ticket_url": before}, {"ticket_url": url}
        return _record(group, result, actor=actor, act="link ticket", reason=reason, changes=changes)


def refusal_of_ticket(url: str) -> str:
    """Why a url cannot be linked as a ticket; empty if it can. Nothing ever calls it: people open it."""
    if len(url) > LONGEST_TICKET_URL:
        return f"Shorten the url to {LONGEST_TICKET_URL} characters."
    if not url.isascii() or not url.isprintable() or " " in url:
        return "A url is in ASCII and has no spaces."
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole:
        return "This must be an https:// url, such as https://tickets.example.com/4711."
    if "@" in parts.netloc:
        return "This url has a name or a password in it, which everybody here would see."
    return ""


def release_ended() -> int:
    """Takes the groups that have ended from their owners. Returns how many. One statement, by the index of owners."""
    return len(fetch(_RELEASE, {"ended": ENDED}))


def _operator(name: str) -> User | None:
    return may_operate().filter(username=name).first()


def _owned(group: AlertGroup) -> str:
    assert group.owned_at is not None
    seconds = max(0, round((database_now() - group.owned_at).total_seconds()))
    ago = f" {seconds} s ago" if seconds < 60 else f" {seconds // 60} min ago" if seconds < 3_600 else ""
    at = f"{group.owned_at:%H:%M} UTC" if not ago else ""
    return f"Owned by {group.owner_name} since {at}." if at else f"Given to {group.owner_name}{ago}."


def _change_owner(group: AlertGroup, account: User | None, *, actor: Actor, act: str, reason: str) -> Result:
    before, now = group.owner_name, database_now()
    group.owner, group.owned_at = account, now if account else None
    fields = ["owner", "owned_at"]
    if account is not None and account.get_username() == actor.name:
        group.acknowledged_at, group.acknowledged_by = now, actor.name
        fields += ["acknowledged_at", "acknowledged_by"]
    group.save(update_fields=fields)
    name = group.owner_name
    message = f"It now belongs to {name}." if name else "Nobody owns it now."
    if name == actor.name:
        message = f"It now belongs to {name}, who has also acknowledged it."
    changes = {"owner": before}, {"owner": name}
    return _record(group, done(message), actor=actor, act=act, reason=reason, changes=changes)


def _record(
    group: AlertGroup,
    result: Result,
    *,
    actor: Actor,
    act: str,
    reason: str,
    changes: tuple[dict[str, str], dict[str, str]] | None = None,
) -> Result:
    before, after = changes or (None, None)
    audit.record(
        actor=actor,
        act=act,
        target=f"group {group.pk}",
        result=result.message,
        reason=reason,
        allowed=result.status is not ResultStatus.REFUSED,
        before=before,
        after=after,
    )
    return result
