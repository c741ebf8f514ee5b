"""Validators for Django forms. Each raises `ValidationError` with a sentence for the person who typed."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from orders.fields import email as email_addresses
from orders.fields.text import has_web_address, is_one_line


def validate_one_line(text: str) -> None:
    """Refuses line breaks and other control characters."""
    if not is_one_line(text):
        raise ValidationError(_("Write this on one line."), code="one_line")


def validate_no_web_address(text: str) -> None:
    """Refuses what a mail program would show as a link."""
    if has_web_address(text):
        raise ValidationError(_("This can’t contain a web address."), code="web_address")


def validate_email(text: str) -> None:
    """Refuses what no order can be placed with."""
    if not text.isascii():
        raise ValidationError(
            _("Enter an email address in Latin letters without accents."), code="invalid_email"
        )
    if not email_addresses.is_valid(text):
        raise ValidationError(_("Enter a full email address, like name@example.com."), code="invalid_email")
