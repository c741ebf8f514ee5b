"""The audit log: what operators did, what came of it, and what they were refused. Append-only."""

from dataclasses import dataclass
from typing import Any

from orders.models import AuditEntry


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who acts, and from which network address."""

    name: str
    address: str = ""


def record(
    *,
    actor: Actor,
    act: str,
    target: str = "",
    said: str = "",
    reason: str = "",
    allowed: bool = True,
    before: Any = None,
    after: Any = None,
) -> None:
    """Appends an entry, in the caller's transaction: it is kept if and only if the act is."""
    AuditEntry.objects.create(
        actor=actor.name,
        address=actor.address,
        act=act,
        target=target,
        said=said[:300],
        reason=reason[:200],
        allowed=allowed,
        before=before,
        after=after,
    )
