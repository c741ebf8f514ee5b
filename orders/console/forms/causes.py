"""The forms about who owns a cause, its snooze and its ticket, and the query string of the inbox."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from orders.console.forms.fields import Reason, exact_input, select
from orders.selectors.desk.inbox import InboxView
from orders.services.operators.causes import LONGEST_TICKET_URL
from orders.services.operators.snoozes import MOST_GROWTH

HOURS = ((1, "1 hour"), (4, "4 hours"), (8, "8 hours"), (24, "1 day"), (72, "3 days"), (168, "7 days"))
"""For how long a cause can be snoozed with one choice."""


class InboxForm(forms.Form):
    """The query string of the inbox: which causes it lists."""

    show = forms.ChoiceField(choices=[(view.value, view.value) for view in InboxView], required=False)

    @property
    def view(self) -> InboxView:
        """The view; all causes that are not snoozed for an unknown name."""
        self.is_valid()
        return InboxView(self.cleaned_data.get("show") or InboxView.ALL)


class OwnerForm(forms.Form):
    """Who is to own a cause. `expected` is the owner that the page showed."""

    owner = forms.CharField(label="Owner", required=False, max_length=150, widget=select())
    expected = forms.CharField(required=False, max_length=150, widget=forms.HiddenInput)
    reason = Reason()

    def __init__(self, data: Any = None, *, owners: Iterable[str] = (), present: str = "") -> None:
        initial = {"owner": present, "expected": present}
        super().__init__(data, auto_id="owner-%s", label_suffix="", initial=initial)
        names = [*owners]
        names += [present] if present and present not in names else []
        self.fields["owner"].widget.choices = [("", "nobody"), *((name, name) for name in names)]


class SnoozeForm(forms.Form):
    """Until when a cause is out of sight: for some hours, until a time, or until it grows."""

    hours = forms.TypedChoiceField(
        label="For",
        required=False,
        coerce=int,
        empty_value=None,
        choices=[("", "until the time below"), *HOURS],
        widget=select(),
        error_messages={"invalid_choice": "Choose a time from the list."},
    )
    until = forms.DateTimeField(
        label="Until (UTC)",
        required=False,
        input_formats=["%Y-%m-%dT%H:%M"],
        widget=forms.DateTimeInput(
            format="%Y-%m-%dT%H:%M", attrs={"class": "input", "type": "datetime-local"}
        ),
        error_messages={"invalid": "Enter a time such as 2026-01-31T08:00."},
    )
    grows_by = forms.IntegerField(
        label="Or until so many more orders fail",
        required=False,
        min_value=1,
        max_value=MOST_GROWTH,
        widget=forms.NumberInput(attrs={"class": "input input--number", "min": 1}),
        error_messages={"invalid": "Enter a number of orders."},
    )
    doubles = forms.BooleanField(label="Or until the orders have doubled", required=False)
    reason = Reason()

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, auto_id="snooze-%s", label_suffix="")

    def clean(self) -> dict[str, Any]:
        """Takes either hours or a time."""
        values: dict[str, Any] = super().clean() or {}
        if values.get("hours") and values.get("until"):
            raise ValidationError("Choose either a number of hours or a time, not both.")
        return values

    def arguments(self, *, now: datetime) -> dict[str, Any]:
        """What the service takes."""
        values = dict(self.cleaned_data)
        hours = values.pop("hours")
        return {**values, "until": now + timedelta(hours=hours) if hours else values["until"]}


class TicketForm(forms.Form):
    """The url of a ticket. `expected` is the one that the page showed."""

    url = forms.CharField(
        label="Ticket (an https:// url)",
        required=False,
        max_length=LONGEST_TICKET_URL,
        widget=exact_input(inputmode="url"),
        error_messages={"max_length": "Shorten the url to %(limit_value)s characters."},
    )
    expected = forms.CharField(required=False, max_length=LONGEST_TICKET_URL, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, present: str = "") -> None:
        super().__init__(
            data, auto_id="ticket-%s", label_suffix="", initial={"url": present, "expected": present}
        )
