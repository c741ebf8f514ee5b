"""Ranges of time in query strings: of the history of causes, and of the hand-over."""

from datetime import datetime, timedelta
from typing import Any

from django import forms

from orders.console.forms.fields import select
from orders.fields.numbers import read_whole_number
from orders.selectors.desk.causes import week_before
from orders.selectors.desk.handover import HOURS, refusal_of_range

TO_THE_MINUTE = "%Y-%m-%dT%H:%M"


class Minute(forms.DateTimeField):
    """A time to the minute, in UTC."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **{
                "required": False,
                "input_formats": [TO_THE_MINUTE, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"],
                "widget": forms.DateTimeInput(
                    format=TO_THE_MINUTE, attrs={"class": "input", "type": "datetime-local"}
                ),
                "error_messages": {"invalid": "Enter a time such as 2026-01-31T08:00."},
                **options,
            }
        )


class HistoryForm(forms.Form):
    """The query string of the history of causes. A field with an error does not narrow the list."""

    since = Minute(label="From (UTC)")
    until = Minute(label="To (UTC)")
    before = forms.CharField(required=False, max_length=80, widget=forms.HiddenInput)

    def __init__(self, query: Any) -> None:
        super().__init__(query, auto_id="%s", label_suffix="")

    def range(self, *, now: datetime) -> tuple[datetime, datetime]:
        """The range, by default the last seven days."""
        self.is_valid()
        until = self.cleaned_data.get("until") or now
        return self.cleaned_data.get("since") or week_before(until), until

    @property
    def position(self) -> tuple[datetime, int] | None:
        """Where the page starts; None for the first page, and for a url that somebody has changed."""
        self.is_valid()
        at, _, number = str(self.cleaned_data.get("before", "")).partition("~")
        group = read_whole_number(number)
        try:
            moment = datetime.fromisoformat(at)
        except ValueError:
            return None
        return None if group is None or moment.tzinfo is None else (moment, group)


class HandoverForm(forms.Form):
    """Which time a hand-over is about: the last hours, or since a time."""

    hours = forms.TypedChoiceField(
        label="The last",
        required=False,
        coerce=int,
        empty_value=None,
        choices=[(number, f"{number} hours") for number in HOURS],
        widget=select(),
        error_messages={"invalid_choice": f"Choose {HOURS[0]}, {HOURS[1]} or {HOURS[2]} hours, or a time."},
    )
    since = Minute(label="or since (UTC)")

    def __init__(self, query: Any) -> None:
        super().__init__(query, auto_id="handover-%s", label_suffix="")

    def beginning(self, *, now: datetime) -> datetime | None:
        """When the range begins: `since` if it is given, or else so many hours ago. None if that cannot be: then the
        field says what can."""
        self.is_valid()
        since: datetime | None = self.cleaned_data.get("since")
        if since is not None and (problem := refusal_of_range(since, now=now)):
            self.add_error("since", problem)
        if self.errors:
            return None
        return since or now - timedelta(hours=self.cleaned_data.get("hours") or HOURS[0])
