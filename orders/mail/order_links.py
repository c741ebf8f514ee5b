"""The mail with the link by which a guest finds an order again."""

from uuid import UUID

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone
from django.utils.translation import gettext as _

from orders.engine import state_store
from orders.engine.rows import EventRow
from orders.selectors import order_page as customer_selectors
from orders.vocabulary import EventKind
from sasweb import mail_server as mail

log = structlog.get_logger()

EVERY = 300
"""Seconds between two such mails for one order, so that nobody's mailbox is filled by asking."""


def mail_order_link(*, order_id: UUID, email: str, link: str) -> None:
    """Mails the link if a guest ordered with this address, and was not mailed it just now.

    Raises `OSError` when the mail server did not take it.
    """
    found = customer_selectors.guest_address(order_id)
    if found is None or found.email.casefold() != email.strip().casefold():
        log.info("no such order to mail a link of", action="mail_link", order_id=str(order_id))
        return
    if found.link_mailed_at and (timezone.now() - found.link_mailed_at).total_seconds() < EVERY:
        return
    text = _(
        "Hello,\n\nhere is the link to your order {order}:\n\n{link}\n\n"
        "Whoever has this link sees the order, so keep it to yourself. If you did not ask for it, do nothing.\n"
    )
    # The address of the order, never the one that was typed.
    with mail.connect(settings.CONFIG.email_url) as connection:
        EmailMessage(
            _("Your order at the Print Shop"),
            text.format(order=order_id, link=link),
            settings.CONFIG.email_from,
            [found.email],
            connection=connection,
        ).send()
    state_store.record_events([EventRow(order_id, EventKind.LINK_MAILED, "customer")])
