"""What the shop's forms are made of."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders.fields import email as email_addresses
from orders.fields.postal_address import LONGEST_PART
from orders.fields.validators import validate_email, validate_no_web_address, validate_one_line
from orders.shop import served


class ShopForm(forms.Form):
    """A form whose fields have the look of the design system."""

    required_css_class = "is-required"

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("label_suffix", "")
        super().__init__(*args, **options)
        for field in self.fields.values():
            if not isinstance(field.widget, forms.CheckboxInput):
                field.widget.attrs.setdefault("class", "input")


class EmailField(forms.CharField):
    """An email address that orders can be placed with."""

    default_error_messages = {
        "required": _("Enter your email address."),
        "max_length": _("Use no more than %(limit_value)d characters."),
    }

    def __init__(self, *, autocomplete: str = "email", **options: Any) -> None:
        options.setdefault("label", _("Email"))
        options.setdefault("max_length", email_addresses.LONGEST)
        super().__init__(widget=forms.EmailInput(attrs={"autocomplete": autocomplete}), **options)
        self.widget.attrs |= {"inputmode": "email", "autocapitalize": "none", "spellcheck": "false"}

    def clean(self, value: Any) -> Any:
        """The address as it was typed. Raises `ValidationError`."""
        email = super().clean(value)
        if email:
            validate_email(email)
        return email


class LineField(forms.CharField):
    """One line of text, which an email to its reader may contain."""

    default_error_messages = {"max_length": _("Use no more than %(limit_value)d characters.")}

    def __init__(self, *, autocomplete: str, **options: Any) -> None:
        options.setdefault("max_length", LONGEST_PART)
        super().__init__(widget=forms.TextInput(attrs={"autocomplete": autocomplete}), **options)

    def to_python(self, value: Any) -> str | None:
        """The text without surrounding space. Raises `ValidationError`."""
        text = super().to_python(value)
        validate_one_line(text or "")
        validate_no_web_address(text or "")
        return text


class ParagraphField(forms.CharField):
    """A paragraph, which an email to its reader may contain. What was typed on several lines is joined."""

    default_error_messages = {"max_length": _("Use no more than %(limit_value)d characters.")}

    def __init__(self, *, rows: int, autocomplete: str = "off", **options: Any) -> None:
        attributes = {"rows": rows, "autocomplete": autocomplete}
        super().__init__(widget=forms.Textarea(attrs=attributes), **options)
        self.widget.attrs.pop("cols", None)

    def to_python(self, value: Any) -> str | None:
        """The text on one line, without surrounding space. Raises `ValidationError`."""
        text = " ".join((super().to_python(value) or "").split())
        validate_one_line(text)
        validate_no_web_address(text)
        return text


def country_choices() -> list[tuple[str, str]]:
    """What a country is chosen from: at first none, so that nobody sends an order to the first of the list."""
    return [("", gettext("Choose a country")), *served.choices()]
