"""The form that takes a code: of an authenticator app, or a recovery code."""

from typing import Any

from django import forms

from orders.console.forms.fields import text_input

LONGEST_CODE = 40


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
