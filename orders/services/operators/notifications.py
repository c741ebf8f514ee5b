"""Notifies operators of alerts (O1), one message per channel for each alert group, never one per order, and of requests
for approval, one message per channel for each.

The messages are posted to the outbox in the transaction that marks the alerts as notified, or stores the request, so
none is lost.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import transaction

from orders.engine.runtime.sql import database_now, fetch
from orders.models import Alert, AlertGroup, ApprovalRequest, OutgoingMessage
from orders.outbox import queue
from orders.services.operators import causes, snoozes
from orders.vocabulary import MessageChannel, MessageKind

log = structlog.get_logger()

QUIET = timedelta(minutes=5)
"""The least time between two messages about one group. Alerts opened in between are in the next message."""

_GROUPS_TO_NOTIFY = """
    SELECT group_id
      FROM orders_alert AS a
     WHERE notified_at IS NULL AND closed_at IS NULL
       AND NOT EXISTS (SELECT FROM orders_alertgroup AS g WHERE g.id = a.group_id AND g.snoozed_until IS NOT NULL)
     GROUP BY group_id
    HAVING min(opened_at) <= clock_timestamp() - %s * interval '1 second'
     ORDER BY min(id)
"""
_MARK_NOTIFIED = """
    UPDATE orders_alert
       SET notified_at = clock_timestamp()
     WHERE group_id = %s AND notified_at IS NULL AND closed_at IS NULL
    RETURNING id
"""


def notify_operators(*, gather: float = 0.0) -> int:
    """Posts messages about every group that has alerts not yet notified, and that is not snoozed. Returns how many.

    A group's first alert waits for `gather` seconds, so that the message counts those that come with it. Without
    ALERT_EMAIL and ALERT_WEBHOOK_URL it only logs the alerts. A group that fails does not stop the others, and is
    tried again at the next call.
    """
    causes.release_ended()
    count = sum(_tell_of_return(group) for group in snoozes.wake_due())
    for (group_id,) in fetch(_GROUPS_TO_NOTIFY, [gather]):
        try:
            count += _post_messages(group_id)
        except Exception:  # whatever is wrong with one group, operators must hear of the others
            log.exception("alerts not reported", action="alert", group=group_id)
    return count


def _post_messages(group_id: int) -> int:
    """Marks a group's new alerts as notified and posts the messages, unless some were posted within `QUIET`."""
    with transaction.atomic():
        group = (
            AlertGroup.objects.select_for_update(skip_locked=True, no_key=True)
            .filter(pk=group_id, snoozed_until__isnull=True)
            .first()
        )
        if group is None:  # another jobs process is posting them, or somebody has just snoozed it
            return 0
        if OutgoingMessage.objects.filter(group=group, created_at__gt=database_now() - QUIET).exists():
            return 0
        alert_ids = [alert_id for (alert_id,) in fetch(_MARK_NOTIFIED, [group_id])]
        if not alert_ids:
            return 0
        count = _post(group, {"alerts": len(alert_ids)}, key=f"alert {max(alert_ids)}")
    log.error(
        "alert", action="alert", kind=group.kind, code=group.code, agent=group.agent, orders=len(alert_ids)
    )
    return count


def _tell_of_return(group: AlertGroup) -> int:
    """Posts the messages that a group is back from its snooze, with the alerts that joined it; none if it has ended.

    If this process dies before, its new alerts are told of as any others, without the reason why it is back.
    """
    with transaction.atomic():
        alert_ids = [alert_id for (alert_id,) in fetch(_MARK_NOTIFIED, [group.pk])]
        if not Alert.objects.filter(group=group, closed_at__isnull=True).exists():
            return 0
        arguments = {"alerts": len(alert_ids), "back": group.woken_why}
        count = _post(group, arguments, key=f"back {group.pk} {group.woken_at}")
    log.error(
        "alert", action="alert", kind=group.kind, code=group.code, agent=group.agent, back=group.woken_why
    )
    return count


def _post(group: AlertGroup, arguments: Mapping[str, Any], *, key: str) -> int:
    recipients = _recipients()
    for channel, recipient in recipients.items():
        queue.post(
            kind=MessageKind.ALERT,
            channel=channel,
            recipient=recipient,
            group=group,
            arguments=arguments,
            key=f"{key} {channel}",
        )
    return len(recipients)


def tell_of_request(request: ApprovalRequest) -> int:
    """Posts the messages about a new request for approval, in the transaction that stores it. Returns how many."""
    recipients = _recipients()
    for channel, recipient in recipients.items():
        queue.post(
            kind=MessageKind.APPROVAL,
            channel=channel,
            recipient=recipient,
            arguments={"request": request.pk},
            key=f"approval {request.pk} {channel}",
        )
    return len(recipients)


def _recipients() -> Mapping[MessageChannel, str]:
    """Returns the recipients by channel. A webhook's URL may be a secret, so only its host is stored."""
    config = settings.CONFIG
    recipients = {
        MessageChannel.EMAIL: config.alert_email,
        MessageChannel.WEBHOOK: urlsplit(config.alert_webhook_url).hostname or "",
    }
    return {channel: recipient for channel, recipient in recipients.items() if recipient}
