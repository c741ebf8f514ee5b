"""The link to an order as emails about it have it, and what they say of a guest's."""

from django.utils.translation import gettext as _

from orders.emails.letter import Button, Note


def order_button(url: str) -> Button:
    """Leads to the order's page."""
    return Button(_("Go to your order"), url)


def secrecy_note() -> Note:
    """Of an email with a guest's link."""
    return Note(_("Anyone who has this email can see your order, so please keep it to yourself."))
