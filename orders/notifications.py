"""Telling operators of alerts (O1): one mail and one webhook call for each group of new alerts, never one per order.

An alert counts as told only once that has succeeded, so one that could not be sent is sent with the next run. A process
killed in between may send it twice.
"""

import json
import urllib.request
from collections import defaultdict
from collections.abc import Sequence

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from orders.models import Alert
from sasweb import mail

log = structlog.get_logger()

TIMEOUT = 5.0
"""Seconds that a webhook may take."""
MOST_AT_ONCE = 1000


def tell_operators() -> int:
    """Tells of every alert that nobody has been told of; returns how many groups were told of.

    Without ALERT_EMAIL and ALERT_WEBHOOK_URL it only logs them.
    """
    groups: dict[tuple[str, str, str], list[Alert]] = defaultdict(list)
    for alert in Alert.objects.filter(notified_at=None, closed_at=None).order_by("id")[:MOST_AT_ONCE]:
        groups[alert.kind, alert.agent, alert.code].append(alert)
    told = 0
    for alerts in groups.values():
        try:
            _tell(alerts)
        except OSError as error:
            log.warning("alert not delivered", action="alert", code=alerts[0].code, error=str(error))
            continue
        Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(notified_at=timezone.now())
        told += 1
    return told


def _tell(alerts: Sequence[Alert]) -> None:
    first = alerts[0]
    where = f" at {first.step} ({first.agent})" if first.step else ""
    subject = f"sasweb: {len(alerts)} × {first.get_kind_display()}{where}"
    log.error(
        "alert", action="alert", kind=first.kind, code=first.code, agent=first.agent, orders=len(alerts)
    )
    if settings.CONFIG.alert_email:
        _mail(subject, alerts)
    if settings.CONFIG.alert_webhook_url:
        _post(subject, alerts)


def _mail(subject: str, alerts: Sequence[Alert]) -> None:
    shown = "\n".join(f"  manage.py order {alert.order_id}" for alert in alerts[:20])
    more = f"\n  and {len(alerts) - 20} more" if len(alerts) > 20 else ""
    text = (
        f"{alerts[0].code}: {alerts[0].message}\n\nOrders:\n{shown}{more}\n\n"
        "When the cause is mended: manage.py resubmit ORDER\n"
    )
    with mail.connect(settings.CONFIG.email_url) as connection:
        EmailMessage(
            subject, text, settings.CONFIG.email_from, [settings.CONFIG.alert_email], connection=connection
        ).send()


def _post(subject: str, alerts: Sequence[Alert]) -> None:
    first = alerts[0]
    body = {
        "text": f"{subject}: {first.message}",
        "kind": first.kind,
        "agent": first.agent,
        "step": first.step,
        "code": first.code,
        "count": len(alerts),
        "orders": [str(alert.order_id) for alert in alerts[:20]],
    }
    request = urllib.request.Request(
        settings.CONFIG.alert_webhook_url,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT):
        pass
