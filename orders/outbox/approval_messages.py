"""The notice of a request for approval, by email and by webhook, as the request stands when it is sent. See ADR 58."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from orders.access.public_urls import public_url
from orders.models import OutgoingMessage
from orders.outbox.content import Content, Email, WebhookCall
from orders.selectors.database_clock import now
from orders.selectors.desk.approvals import ApprovalRow, find_approval
from orders.vocabulary import MessageChannel, MessageKind


def compose(message: OutgoingMessage) -> list[Content]:
    """The email or the webhook call; nothing if its channel is no longer configured, or the request no longer waits."""
    config = settings.CONFIG
    request = find_approval(message.arguments["request"], now=now())
    if request is None or not request.is_waiting:
        return []
    if message.channel == MessageChannel.WEBHOOK:
        if not config.alert_webhook_url:
            return []
        return [WebhookCall(url=config.alert_webhook_url, body=webhook_body(request))]
    if not config.alert_email:
        return []
    return [Email(recipient=config.alert_email, subject=_subject(request), body=_email_body(request))]


def _subject(request: ApprovalRow) -> str:
    return f"sasweb: {request.asked_by} asks for approval: {request.summary}"


def _url(request: ApprovalRow) -> str:
    return f"{public_url('console:approvals')}#approval-{request.id}"


def _email_body(request: ApprovalRow) -> str:
    lines = [
        f"{request.asked_by} asks an admin to approve request {request.id}:",
        f"{request.summary} ({request.target}).",
    ]
    if request.reason:
        lines += [f"Reason: {request.reason}"]
    lines += [
        "",
        f"Approve or decline it by {request.expires_at:%d %b %H:%M} UTC, when it expires:",
        _url(request),
        "",
        f"Or by command: manage.py approvals approve {request.id} --by NAME",
    ]
    return "\n".join(lines) + "\n"


def webhook_body(request: ApprovalRow) -> Mapping[str, Any]:
    """What the webhook of the alerts is called with."""
    return {
        "text": f"{_subject(request)} ({request.target}) {_url(request)}",
        "kind": MessageKind.APPROVAL,
        "request": request.id,
        "act": request.act,
        "summary": request.summary,
        "target": request.target,
        "reason": request.reason,
        "asked_by": request.asked_by,
        "expires_at": request.expires_at.isoformat(),
        "url": _url(request),
    }
