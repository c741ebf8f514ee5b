"""The audit log: what operators did, what came of it, and what they were refused. Append-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orders.models import AuditEntry

ACTS = {
    "order-resubmit": "resubmit",
    "step-resubmit": "resubmit",
    "order-retry": "retry now",
    "order-priority": "set priority",
    "order-compensate": "compensate",
    "step-skip": "skip",
    "step-settle": "settle",
    "step-edit": "edit and resubmit",
    "set-aside-replay": "replay",
    "group-note": "note",
    "group-acknowledge": "acknowledge",
    "group-unacknowledge": "unacknowledge",
    "group-resubmit": "bulk resubmit",
    "outbox-retry": "retry message",
    "agent-pause": "pause-agent",
    "agent-resume": "resume-agent",
}
"""What an act is called in the log, by the name of its address where that is another."""
TARGETS = {
    "order_id": "order {}",
    "agent": "agent {}",
    "group_id": "group {}",
    "action_id": "bulk {}",
    "message_id": "message {}",
    "number": "submission {}",
    "service": "{}",
    "role": "{}",
}
"""What an act is about, by the part of its address that says so."""


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who acts at the desk, and from which IP address."""

    name: str
    ip_address: str = ""


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
        ip_address=actor.ip_address,
        act=act,
        target=target[:120],
        said=said[:300],
        reason=reason[:200],
        allowed=allowed,
        before=before,
        after=after,
    )


def record_refusal(*, actor: Actor, address: str, about: Mapping[str, Any], path: str, why: str) -> None:
    """Appends that somebody had no right to an act, under the name and the target that the act itself is kept under.

    `address` is the name of its address, `about` what the address says it is about; `path` stands for a target that
    does not exist yet.
    """
    act, target = named(address, about, path)
    record(actor=actor, act=act, target=target, said=why, allowed=False)


def named(address: str, about: Mapping[str, Any], path: str) -> tuple[str, str]:
    """The act and the target of an address, as the log has them."""
    act = ACTS.get(address, address)
    if address == "bulk-act":
        act = f"{about['act']} action"
    elif address == "bulk-create" and about.get("kind"):
        act = f"bulk {about['kind']}"
    target = next((words.format(about[name]) for name, words in TARGETS.items() if name in about), path)
    return act[:40], target
