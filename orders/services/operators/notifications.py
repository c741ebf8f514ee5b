"""Telling operators of alerts (O1): one mail and one webhook call for each group of new alerts, never one per order.

What is to be told is written down first, as an `AlertDelivery` for each channel, in the transaction that marks the
alerts as told of. Then it is delivered, again and again until that succeeds, so nothing is lost. A process that is
killed between the two may tell twice.
"""

import http.client
import json
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse

from orders.engine.runtime.sql import database_now, fetch, run
from orders.models import Alert, AlertDelivery, AlertGroup, StepState
from orders.vocabulary import AlertKind
from sasweb import mail_server as mail

log = structlog.get_logger()

TIMEOUT = 5.0
"""Seconds that a webhook may take."""
QUIET = timedelta(minutes=5)
"""How long nothing more is told of a group that was told of; its new alerts wait and are then told of together."""
FIRST_RETRY = timedelta(seconds=60)
LONGEST_RETRY = timedelta(hours=1)
SHOWN = 20
"""Orders that a message names."""
PATIENCE = 90.0
"""Seconds that one run of the job may take: less than the cluster's timeout, with whatever it has in hand."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a message says of a group; `count` are new, `open` all that are open, `waiting` steps of an outage."""

    group: AlertGroup
    count: int
    open: int
    step: str
    message: str
    orders: list[str]
    waiting: int
    url: str

    @property
    def subject(self) -> str:
        if self.group.kind == AlertKind.OUTAGE:
            return f"sasweb: {self.group.agent} does not answer, {self.waiting} steps wait"
        where = f" at {self.step} ({self.group.agent})" if self.step else ""
        return f"sasweb: {self.count} × {self.group.get_kind_display()}{where}"


def tell_operators() -> int:
    """Tells of every alert that nobody has been told of; returns how many messages were delivered.

    Without ALERT_EMAIL and ALERT_WEBHOOK_URL it only logs them.
    """
    for (group_id,) in fetch(
        """
        SELECT group_id FROM orders_alert WHERE notified_at IS NULL AND closed_at IS NULL
         GROUP BY group_id ORDER BY min(id)
        """
    ):
        _write_down(group_id)
    return deliver()


def deliver(*, now: datetime | None = None) -> int:
    """Delivers what is due; returns how many deliveries succeeded."""
    now = now or database_now()
    ends = time.monotonic() + PATIENCE
    delivered = 0
    while time.monotonic() < ends and (delivery := _claim(now)) is not None:
        delivered += _deliver(delivery)
    return delivered


def wait_after(attempts: int) -> timedelta:
    """How long to wait after so many tries that failed: doubling, up to an hour."""
    return min(FIRST_RETRY * (1 << min(attempts - 1, 10)), LONGEST_RETRY)


def _write_down(group_id: int) -> None:
    """Marks a group's new alerts as told of and writes down the messages, unless it was told of just now."""
    with transaction.atomic():
        group = (
            AlertGroup.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=group_id).first()
        )
        if group is None:  # another of these jobs has it in hand
            return
        recent = AlertDelivery.objects.filter(group=group, created_at__gt=database_now() - QUIET)
        if recent.exists():
            return
        count = run(
            """
            UPDATE orders_alert SET notified_at = clock_timestamp()
             WHERE group_id = %s AND notified_at IS NULL AND closed_at IS NULL
            """,
            [group_id],
        )
        if not count:
            return
        AlertDelivery.objects.bulk_create(
            AlertDelivery(
                group=group, channel=channel, target=target, alerts=count, next_try_at=database_now()
            )
            for channel, target in _targets().items()
        )
    log.error("alert", action="alert", kind=group.kind, code=group.code, agent=group.agent, orders=count)


def _targets() -> dict[str, str]:
    """Where each channel leads. A webhook's address may be a secret: only its host is kept."""
    config = settings.CONFIG
    hook = urlsplit(config.alert_webhook_url).hostname or ""
    found = {"mail": config.alert_email, "webhook": hook}
    return {channel: target[:300] for channel, target in found.items() if target}


def _claim(now: datetime) -> AlertDelivery | None:
    """The next that is due, with its next try already written down, for the case that this process is killed."""
    with transaction.atomic():
        due = (
            AlertDelivery.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("group")
            .filter(next_try_at__lte=now)
            .order_by("next_try_at")
            .first()
        )
        if due is not None:
            due.attempts += 1
            due.next_try_at = now + wait_after(due.attempts)
            due.save(update_fields=["attempts", "next_try_at"])
    return due


def _deliver(delivery: AlertDelivery) -> bool:
    """One try of one delivery, outside of any transaction; True if it ended well."""
    target = _targets().get(delivery.channel)
    if target is None:
        delivery.next_try_at, delivery.error = None, "this channel is no longer set up"
        delivery.save(update_fields=["next_try_at", "error"])
        return False
    try:
        _SENDERS[delivery.channel](told(delivery))
    except (OSError, http.client.HTTPException, ValueError) as error:
        delivery.error = (str(error) or type(error).__name__)[:300]
        delivery.save(update_fields=["error"])
        log.warning(
            "alert not delivered",
            action="alert",
            channel=delivery.channel,
            error=delivery.error,
            tries=delivery.attempts,
        )
        return False
    delivery.target, delivery.error = target, ""
    delivery.sent_at, delivery.next_try_at = database_now(), None
    delivery.save(update_fields=["target", "error", "sent_at", "next_try_at"])
    return True


def told(delivery: AlertDelivery) -> Told:
    """What is said of a group now."""
    group = delivery.group
    newest = Alert.objects.filter(group=group).order_by("-id").first()
    still_open = Alert.objects.filter(group=group, closed_at__isnull=True).order_by("-opened_at")
    shown = still_open.filter(order_id__isnull=False).values_list("order_id", flat=True)[:SHOWN]
    waiting = 0
    if group.kind == AlertKind.OUTAGE:
        waiting = StepState.objects.filter(agent=group.agent, waiting_since__isnull=False).count()
    return Told(
        group=group,
        count=delivery.alerts,
        open=still_open.count(),
        step=newest.step if newest else "",
        message=newest.message if newest else group.pattern,
        orders=[str(order_id) for order_id in shown],
        waiting=waiting,
        url=settings.CONFIG.public_url + reverse("console:group", args=[group.pk]),
    )


def _mail(said: Told) -> None:
    lines = [f"{said.group.code}: {said.message}", "", f"{said.count} new, {said.open} open.", said.url]
    if said.group.kind == AlertKind.OUTAGE:
        lines += [
            "",
            f"{said.waiting} steps wait for {said.group.agent} and go on by themselves when it answers.",
        ]
    if said.orders:
        more = said.open - len(said.orders)
        lines += ["", "Orders:", *(f"  manage.py order {order_id}" for order_id in said.orders)]
        lines += [f"  and {more} more"] if more > 0 else []
        lines += ["", f"When the cause is mended: {said.url}, or manage.py resubmit ORDER"]
    config = settings.CONFIG
    with mail.connect(config.email_url) as connection:
        EmailMessage(
            said.subject,
            "\n".join(lines) + "\n",
            config.email_from,
            [config.alert_email],
            connection=connection,
        ).send()


def _post(said: Told) -> None:
    group = said.group
    body: Mapping[str, Any] = {
        "text": f"{said.subject}: {said.message} {said.url}",
        "kind": group.kind,
        "agent": group.agent,
        "step": said.step,
        "code": group.code,
        "count": said.count,
        "open": said.open,
        "waiting": said.waiting,
        "orders": said.orders,
        "url": said.url,
    }
    request = urllib.request.Request(
        settings.CONFIG.alert_webhook_url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with _OPENER.open(request, timeout=TIMEOUT):
        pass


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An answer that leads elsewhere is an error: what is told here is for whoever was set up, and for nobody else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)
_SENDERS: Mapping[str, Callable[[Told], None]] = {"mail": _mail, "webhook": _post}
