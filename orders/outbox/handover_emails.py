"""The email with the hand-over of a shift, as things stand when it is sent."""

from datetime import datetime

from django.conf import settings

from orders.access.levels import may_operate
from orders.access.public_urls import public_url
from orders.models import OutgoingMessage
from orders.outbox.content import Email
from orders.selectors.database_clock import now
from orders.selectors.desk.handover import read_handover
from orders.wording.handover_text import handover_text


def compose(message: OutgoingMessage) -> list[Email]:
    """The hand-over; nothing if the recipient is neither the alerts' address nor an operator's any more."""
    if not _is_ours(message.recipient):
        return []
    at = now()
    handover = read_handover(since=datetime.fromisoformat(message.arguments["since"]), now=at)
    body = f"{message.arguments['by']} sent you this hand-over.\n{public_url('console:handover')}\n\n"
    subject = f"sasweb: hand-over of {at:%Y-%m-%d %H:%M} UTC"
    return [Email(recipient=message.recipient, subject=subject, body=body + handover_text(handover))]


def _is_ours(recipient: str) -> bool:
    return recipient == settings.CONFIG.alert_email or may_operate().filter(email=recipient).exists()
