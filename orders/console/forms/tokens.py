"""The form that creates an API token."""

from typing import Any
from uuid import uuid4

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from orders.access.api_tokens import DAYS, LONGEST_LABEL, MOST_DAYS
from orders.access.levels import OPERATE
from orders.console.forms.fields import select, text_input
from orders.vocabulary import TokenScope
from orders.wording.token_scopes import ACTS

LIFETIMES = [(days, f"{days} days") for days in (7, 30, DAYS, MOST_DAYS)]


class TokenForm(forms.Form):
    """What a token is for, what it may do besides reading, and how long it lasts.

    Each page's form has a `form_key` of its own, by which a reload of the answer is known.
    """

    form_key = forms.UUIDField(required=False, initial=uuid4, widget=forms.HiddenInput)
    label = forms.CharField(
        label="What it is for",
        required=False,
        max_length=LONGEST_LABEL,
        widget=text_input(),
        error_messages={"max_length": "Shorten this to %(limit_value)s characters."},
    )
    scopes = forms.TypedMultipleChoiceField(
        label="Besides reading, it may",
        coerce=TokenScope,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "Choose among what your account may do."},
    )
    days = forms.TypedChoiceField(
        label="It expires after",
        coerce=int,
        choices=LIFETIMES,
        initial=DAYS,
        widget=select(),
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), "Choose after how many days it expires."
        ),
    )

    def __init__(self, data: QueryDict | None = None, *, user: Any) -> None:
        super().__init__(data, label_suffix="", auto_id="%s")
        offered = list(TokenScope) if user.has_perm(OPERATE) else [TokenScope.ORDERS]
        choices = [(scope.value, ACTS[scope]) for scope in offered if scope != TokenScope.READ]
        self.fields["scopes"].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> None:
        """Refuses a form without its key."""
        if not self.cleaned_data.get("form_key"):
            raise ValidationError("Load this page again, then create the token.")
