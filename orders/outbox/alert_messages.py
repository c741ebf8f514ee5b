"""The notification of an alert group, by email and by webhook, with the group's state at the time it is sent (O1)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from orders.access.public_urls import public_url
from orders.models import Alert, AlertGroup, OutgoingMessage, StepState
from orders.outbox.content import Content, Email, WebhookCall
from orders.vocabulary import AlertKind, MessageChannel
from orders.wording.alert_words import alert_text, alert_title
from orders.wording.runbooks import advise
from orders.wording.units import counted

SHOWN = 20
"""The most orders that a message names."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A group of alerts now. `count` alerts are new, `open` are open in all; `waiting` steps wait for an outage to
    end."""

    group: AlertGroup
    count: int
    open: int
    step: str
    message: str
    orders: list[str]
    waiting: int
    url: str
    back: str = ""
    """Why it is back from a snooze, as a sentence; empty if it is not."""

    @property
    def has_orders(self) -> bool:
        return AlertKind.are_about_orders(self.group.kind)

    @property
    def title(self) -> str:
        return alert_title(self.group.kind, self.group.code)

    @property
    def subject(self) -> str:
        if self.group.kind == AlertKind.OUTAGE:
            steps = "1 step is" if self.waiting == 1 else f"{self.waiting} steps are"
            return f"sasweb: {self.group.agent} is not answering; {steps} waiting"
        if not self.has_orders:
            return f"sasweb: {self.title}"
        agent = f" ({self.group.agent})" if self.group.agent else ""
        where = f" at {self.step}{agent}" if self.step else ""
        if self.back:
            return f"sasweb: back from its snooze: {self.title}{where}: {self.open} open"
        return f"sasweb: {self.title}{where}: {counted(self.count, 'new alert')}"


def compose(message: OutgoingMessage) -> list[Content]:
    """The email or the webhook call; nothing if its channel is no longer configured, or no alert of the group is open
    any more, as after an outage that is over."""
    config = settings.CONFIG
    group = message.group
    assert group is not None
    if not Alert.objects.filter(group=group, closed_at__isnull=True).exists():
        return []
    if message.channel == MessageChannel.WEBHOOK:
        if not config.alert_webhook_url:
            return []
        return [WebhookCall(url=config.alert_webhook_url, body=_webhook_body(_summary_of(message, group)))]
    if not config.alert_email:
        return []
    summary = _summary_of(message, group)
    return [Email(recipient=config.alert_email, subject=summary.subject, body=_email_body(summary))]


def _summary_of(message: OutgoingMessage, group: AlertGroup) -> Summary:
    return replace(summarize(group, message.alerts), back=message.arguments.get("back", ""))


def summarize(group: AlertGroup, count: int) -> Summary:
    """A group as it is now; `count` of its alerts are new."""
    newest = Alert.objects.filter(group=group).order_by("-id").first()
    still_open = Alert.objects.filter(group=group, closed_at__isnull=True).order_by("-opened_at")
    shown = still_open.filter(order_id__isnull=False).values_list("order_id", flat=True)[:SHOWN]
    waiting = 0
    if group.kind == AlertKind.OUTAGE:
        waiting = StepState.objects.filter(agent=group.agent, waiting_since__isnull=False).count()
    return Summary(
        group=group,
        count=count,
        open=still_open.count(),
        step=newest.step if newest else "",
        message=alert_text(group.kind, newest.message if newest else group.pattern),
        orders=[str(order_id) for order_id in shown],
        waiting=waiting,
        url=public_url("console:group", group.pk),
    )


def _email_body(summary: Summary) -> str:
    group = summary.group
    lines = [
        f"{group.code}: {summary.message}",
        "",
        f"{summary.count} new, {summary.open} open in all.",
        summary.url,
    ]
    if summary.back:
        lines += ["", f"It is back from its snooze: {summary.back}"]
    if group.kind == AlertKind.OUTAGE:
        steps = "1 step is" if summary.waiting == 1 else f"{summary.waiting} steps are"
        lines += [
            "",
            f"{steps} waiting for {group.agent}, and will continue automatically once it answers again.",
        ]
    elif not summary.has_orders:
        lines += ["", f"To do: {advise(kind=group.kind, code=group.code)}"]
    if summary.orders:
        more = summary.open - len(summary.orders)
        lines += ["", "Orders:", *(f"  manage.py order {order_id}" for order_id in summary.orders)]
        lines += [f"  and {more} more"] if more > 0 else []
        lines += ["", _advice(summary)]
    return "\n".join(lines) + "\n"


def _advice(summary: Summary) -> str:
    """What to do about the orders of a group. A submission that was set aside is not an order yet."""
    if summary.group.kind == AlertKind.SET_ASIDE:
        return (
            "Fix the cause, then put them back on the queue: manage.py set_aside lists them,"
            " and manage.py set_aside replay N replays one."
        )
    return (
        f"Once the cause is fixed, resubmit them at {summary.url},"
        f" or with manage.py resubmit --all --group {summary.group.pk}."
    )


def _webhook_body(summary: Summary) -> Mapping[str, Any]:
    group = summary.group
    return {
        "text": f"{summary.subject}: {summary.message} {summary.url}",
        "kind": group.kind,
        "agent": group.agent,
        "step": summary.step,
        "code": group.code,
        "count": summary.count,
        "open": summary.open,
        "waiting": summary.waiting,
        "orders": summary.orders,
        "url": summary.url,
    }
