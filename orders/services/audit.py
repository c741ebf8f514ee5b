"""Writes the audit log: the acts of operators, with their results, and the acts that were refused. Append-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from django.http import HttpRequest

from orders.access.limits import LimitedError, take
from orders.models import AuditEntry

log = structlog.get_logger()

ACTS = {
    "order-resubmit": "resubmit",
    "step-resubmit": "resubmit",
    "order-retry": "retry now",
    "order-priority": "set priority",
    "order-pause": "pause",
    "order-resume": "resume",
    "order-compensate": "compensate",
    "order-edit": "edit order",
    "order-erase": "erase",
    "order-note": "note",
    "step-skip": "skip",
    "step-settle": "settle",
    "step-edit": "edit and resubmit",
    "step-decide": "decide",
    "step-decide-confirmed": "decide",
    "step-decision": "decide",
    "step-event": "report event",
    "set-aside-replay": "replay",
    "group-note": "note",
    "group-acknowledge": "acknowledge",
    "group-unacknowledge": "unacknowledge",
    "group-resubmit": "bulk resubmit",
    "group-take": "take",
    "group-assign": "assign",
    "group-snooze": "snooze",
    "group-wake": "wake",
    "group-ticket": "link ticket",
    "group-runbook": "write runbook",
    "handover-note": "write handover",
    "handover-send": "send handover",
    "view-save": "save view",
    "views": "save view",
    "view": "change view",
    "view-change": "change view",
    "view-delete": "delete view",
    "outbox-retry": "retry message",
    "agent-pause": "pause agent",
    "agent-limit": "limit agent",
    "agent-resume": "resume agent",
    "agent-force": "force circuit",
    "agent-unforce": "unforce circuit",
    "intake-pause": "pause intake",
    "intake-pause-ask": "ask for approval",
    "intake-resume": "resume intake",
    "step-pause": "pause step",
    "step-resume": "resume step",
    "bulk-actions": "bulk create",
    "bulk-action-pause": "pause action",
    "bulk-action-resume": "resume action",
    "bulk-action-stop": "stop action",
    "bulk-action-undo": "undo action",
    "tokens": "token create",
    "approvals": "ask for approval",
    "step-settle-ask": "ask for approval",
    "order-erase-ask": "ask for approval",
    "force-circuit-ask": "ask for approval",
    "unforce-circuit-ask": "ask for approval",
    "approval-approve": "approve",
    "approval-decline": "decline",
    "approval-withdraw": "withdraw",
}
"""The name of each act in the log, by URL name, where the two differ."""
TARGETS = {
    "order_id": "order {}",
    "agent": "agent {}",
    "group_id": "group {}",
    "action_id": "bulk {}",
    "message_id": "message {}",
    "number": "submission {}",
    "service": "{}",
    "role": "{}",
    "token_id": "token {}",
    "request_id": "request {}",
    "view_id": "view {}",
}
"""What an act is about, by the URL parameter that identifies it."""


@dataclass(frozen=True, kw_only=True)
class Actor:
    """The person acting, and the IP address she acts from."""

    name: str
    ip_address: str = ""


def actor_of(request: HttpRequest, name: str = "") -> Actor:
    """The person behind a request, by default whoever is signed in, and the IP address that it comes from."""
    return Actor(
        name=(name or request.user.get_username())[:120], ip_address=request.META.get("REMOTE_ADDR", "")[:45]
    )


def record(
    *,
    actor: Actor,
    act: str,
    target: str = "",
    result: str = "",
    reason: str = "",
    allowed: bool = True,
    before: Any = None,
    after: Any = None,
) -> AuditEntry:
    """Appends an entry in the caller's transaction, so it is kept if and only if the act is.

    `result` is the result of the act, as a sentence; `reason` is the one that the operator gave.
    """
    return AuditEntry.objects.create(
        actor=actor.name,
        ip_address=actor.ip_address,
        act=act,
        target=target[:120],
        result=result[:300],
        reason=reason[:200],
        allowed=allowed,
        before=before,
        after=after,
    )


def record_refusal(
    *, actor: Actor, url_name: str, parameters: Mapping[str, Any], path: str, why: str
) -> None:
    """Appends an act that somebody had no permission for, under the same name and target as the act itself.

    `url_name` and `parameters` are those of the request's URL; `path` stands in for a target that does not exist yet.
    Beyond `refusals.account` it is only logged: nobody may fill what is kept for ever. Call it outside of transactions.
    """
    act, target = act_and_target(url_name, parameters, path)
    try:
        take([("refusals.account", actor.name)])
    except LimitedError:
        log.warning(
            "refusal not recorded", action="refuse", actor=actor.name, act=act, target=target, why=why
        )
        return
    record(actor=actor, act=act, target=target, result=why, allowed=False)


def act_and_target(url_name: str, parameters: Mapping[str, Any], path: str) -> tuple[str, str]:
    """Returns the act and the target of a URL, as the log names them. An act is named in words with spaces."""
    act = ACTS.get(url_name, url_name.replace("-", " "))
    if url_name == "bulk-act":
        act = f"{parameters['act']} action"
    elif url_name in ("bulk-create", "bulk-edit-create", "bulk-actions") and parameters.get("kind"):
        act = f"bulk {parameters['kind']}"
    target = next(
        (text.format(parameters[name]) for name, text in TARGETS.items() if name in parameters), path
    )
    return act[:40], target
