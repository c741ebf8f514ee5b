"""The forms of the account's pages. Each field has its label, and tells browsers what to fill in."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.utils.translation import gettext_lazy as _

from orders.fields import email as email_addresses
from orders.selectors.paging import Position, read_position
from orders.services.accounts import NewAddress
from orders.shop.storefront.address_fields import AddressFields
from orders.shop.storefront.form_fields import EmailField, ShopForm

LONGEST_ACCOUNT_EMAIL = 150
"""Characters of an account's email address, which is its user name: as many as Django stores."""


class AccountEmailField(EmailField):
    """An email address, normalised as in its account's name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_ACCOUNT_EMAIL, **options)

    def clean(self, value: Any) -> Any:
        """The normalised address. Raises `ValidationError`."""
        return email_addresses.normalise(super().clean(value))


class SignUpForm(ShopForm):
    """Asks for the email address of a new account."""

    email = AccountEmailField(help_text=_("We’ll email you a link to choose a password."))


class ForgottenForm(ShopForm):
    """Asks for the email address of the account whose password was forgotten."""

    email = AccountEmailField(autocomplete="username")


class SignInForm(ShopForm, AuthenticationForm):
    """Email and password. The error does not reveal which of them is wrong."""

    username = AccountEmailField(autocomplete="username")
    error_messages = {
        "invalid_login": _("That email and password don’t match. Check them and try again."),
        "inactive": _("That email and password don’t match. Check them and try again."),
    }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["password"].error_messages["required"] = _("Enter your password.")


class NewPasswordForm(ShopForm, SetPasswordForm):  # type: ignore[type-arg]
    """A password for a new account, or for one whose password was forgotten."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _label_new_passwords(self)


class ChangePasswordForm(ShopForm, PasswordChangeForm):
    """A new password, for a customer who knows the old one."""

    error_messages = {
        **PasswordChangeForm.error_messages,
        "password_incorrect": _("That’s not your current password. Try again."),
    }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _label_new_passwords(self)
        self.fields["old_password"].label = _("Current password")
        self.fields["old_password"].error_messages["required"] = _("Enter your current password.")
        self.fields["old_password"].widget.attrs.pop("autofocus", None)


def _label_new_passwords(form: forms.Form) -> None:
    first, second = form.fields["new_password1"], form.fields["new_password2"]
    first.label, second.label = _("New password"), _("New password again")
    first.help_text = _("At least 12 characters. A few words that only you would put together work best.")
    second.help_text = ""
    first.error_messages["required"] = _("Enter a new password.")
    second.error_messages["required"] = _("Enter the new password again.")


class AddressForm(AddressFields):
    """An address to send orders to."""

    is_default = forms.BooleanField(label=_("Send my orders here by default"), required=False)

    @property
    def address(self) -> NewAddress:
        """The address, once the form is valid."""
        return NewAddress(**self.address_parts(), is_default=self.cleaned_data["is_default"])


class OlderOrdersForm(forms.Form):
    """The query string of a customer's orders."""

    before = forms.CharField(required=False)

    @property
    def position(self) -> Position | None:
        """Where the list starts; None at the newest order, and for a URL that somebody has changed."""
        return read_position(self.cleaned_data["before"]) if self.is_valid() else None
