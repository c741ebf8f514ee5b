"""The forms with which operators sign in: name and password, then a code of an authenticator app or a recovery code."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm

from orders.console.forms.fields import text_input

LONGEST_CODE = 40


class SignInForm(AuthenticationForm):
    """Name and password. The error does not reveal which of them is wrong."""

    error_messages = dict.fromkeys(
        ("invalid_login", "inactive"), "That name and password don’t match. Check them and try again."
    )


class CodeForm(forms.Form):
    """One code. Every code that is sent is checked and counted as a guess, an empty or overlong one too."""

    code = forms.CharField(
        label="Code",
        required=False,
        widget=text_input(
            maxlength=LONGEST_CODE,
            autocomplete="one-time-code",
            autocapitalize="none",
            spellcheck="false",
            required=True,
            autofocus=True,
        ),
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")

    @property
    def typed(self) -> str:
        """The code as it was typed."""
        return str(self.data.get("code", ""))

    def reject(self, message: str) -> None:
        """Shows why the code was not accepted."""
        self.full_clean()
        self.add_error("code", message)
