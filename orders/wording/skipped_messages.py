"""Why the outbox has skipped a message: what each kind of message waits for to be worth sending."""

from collections.abc import Mapping

from orders.vocabulary import MessageChannel, MessageKind

REASONS: Mapping[str, str] = {
    MessageKind.ORDER_LINK: (
        "No guest has placed this order with this email address, the link was sent there a moment ago, or another email"
        " about the order has it."
    ),
    MessageKind.SIGN_UP: "An earlier email to this address has a link that is still valid.",
    MessageKind.NEW_PASSWORD: "No account that signs in with a password has this email address.",
    MessageKind.WEBHOOK_OFF: "The webhook has been enabled or deleted since.",
    MessageKind.HANDOVER: "The recipient is no longer an operator.",
    MessageKind.ORDER_UPDATE: (
        "What it was about had passed before it was sent, or its customer was told of it in another way."
    ),
    MessageKind.APPROVAL: (
        "The request was answered, or expired, before it was sent, or ALERT_EMAIL or ALERT_WEBHOOK_URL is empty."
    ),
}
ALERTS: Mapping[str, str] = {
    MessageChannel.EMAIL: "Every alert of its group was closed before it was sent, or ALERT_EMAIL is empty.",
    MessageChannel.WEBHOOK: "Every alert of its group was closed before it was sent, or ALERT_WEBHOOK_URL is empty.",
}


def why_skipped(*, kind: str, channel: str, reason: str = "") -> str:
    """Why a message of this kind was skipped, as a sentence; `reason` is the one that is stored with it, if any."""
    if reason:
        return reason
    reasons = ALERTS if kind == MessageKind.ALERT else REASONS
    return reasons.get(channel if kind == MessageKind.ALERT else kind, "There was no reason to send it.")
