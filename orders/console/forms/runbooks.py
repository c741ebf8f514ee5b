"""The form for what this installation says about an error's code."""

from typing import Any

from django import forms

from orders.services.operators.runbooks import LONGEST


class RunbookForm(forms.Form):
    """The text, and the one that the page showed."""

    text = forms.CharField(
        label="What should operators here know about it?",
        required=False,
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"class": "input", "rows": 4}),
        error_messages={"max_length": "Shorten the text to %(limit_value)s characters."},
    )
    expected = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, present: str = "") -> None:
        super().__init__(
            data, auto_id="runbook-%s", label_suffix="", initial={"text": present, "expected": present}
        )
