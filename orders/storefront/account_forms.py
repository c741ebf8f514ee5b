"""The forms of the account's pages. Each field has its label, and says what a browser may fill it with."""

import unicodedata
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.utils.translation import gettext_lazy as _

from orders.fields import countries
from orders.services.accounts import NewAddress, normalise_email

BREAKS = frozenset({"Cc", "Zl", "Zp", "Cs"})
LONGEST_NAME = 150
"""Letters of an e-mail address that can be an account's: as many as Django's user names."""


class Designed(forms.Form):
    """A form whose fields look like the design system's."""

    required_css_class = "is-required"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if not isinstance(field.widget, forms.CheckboxInput):
                field.widget.attrs.setdefault("class", "input")


class EmailField(forms.EmailField):
    """An e-mail address that orders can be placed with, in its one form."""

    default_error_messages = {"ascii": _("Please use an address in plain letters (ASCII).")}

    def __init__(self, **options: Any) -> None:
        options.setdefault("label", _("E-mail"))
        options.setdefault("max_length", LONGEST_NAME)
        super().__init__(**options)
        self.widget.attrs |= {"inputmode": "email", "autocapitalize": "none", "spellcheck": "false"}

    def clean(self, value: Any) -> Any:
        email = normalise_email(super().clean(value))
        if not email.isascii():
            raise forms.ValidationError(self.error_messages["ascii"], code="ascii")
        return email


class SignUpForm(Designed):
    """Who wants an account."""

    email = EmailField(
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text=_("We send you a link with which you choose a password."),
    )


class ForgottenForm(Designed):
    """Who wants a new password."""

    email = EmailField(widget=forms.EmailInput(attrs={"autocomplete": "username"}))


class SignInForm(Designed, AuthenticationForm):
    """E-mail and password. What is wrong is not said of either, and the same for all."""

    username = EmailField(widget=forms.EmailInput(attrs={"autocomplete": "username"}))
    error_messages = {
        "invalid_login": _("This e-mail and password do not belong together. Please try again."),
        "inactive": _("This e-mail and password do not belong together. Please try again."),
    }


class NewPasswordForm(Designed, SetPasswordForm):
    """A password for an account that has none, or whose password is forgotten."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _name_passwords(self)


class ChangePasswordForm(Designed, PasswordChangeForm):
    """A new password by who knows the old one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _name_passwords(self)
        self.fields["old_password"].label = _("Present password")
        self.fields["old_password"].widget.attrs.pop("autofocus", None)


def _name_passwords(form: forms.Form) -> None:
    first, again = form.fields["new_password1"], form.fields["new_password2"]
    first.label, again.label = _("New password"), _("New password, once more")
    first.help_text = _("At least 12 characters; a few words that only you would put together are best.")
    again.help_text = ""


class Line(forms.CharField):
    """One line of text without control characters."""

    default_error_messages = {"broken": _("This must be a single line of text.")}

    def __init__(self, *, autocomplete: str, **options: Any) -> None:
        widget = forms.TextInput(attrs={"autocomplete": autocomplete})
        super().__init__(max_length=200, widget=widget, **options)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if any(unicodedata.category(letter) in BREAKS for letter in text):
            raise forms.ValidationError(self.error_messages["broken"], code="broken")
        return text


class AddressForm(Designed):
    """Where orders are to be sent."""

    name = Line(label=_("Name"), autocomplete="name")
    street = Line(label=_("Street and number"), autocomplete="street-address")
    postal_code = Line(label=_("Postal code"), autocomplete="postal-code")
    city = Line(label=_("City"), autocomplete="address-level2")
    country = forms.ChoiceField(
        label=_("Country"), choices=countries.choices, widget=forms.Select(attrs={"autocomplete": "country"})
    )
    is_default = forms.BooleanField(label=_("Send orders here unless I say otherwise"), required=False)

    @property
    def address(self) -> NewAddress:
        """The address of a form that is valid."""
        return NewAddress(**self.cleaned_data)
