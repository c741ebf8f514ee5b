"""The forms on the page of an order: retry, pause, decide, priority, cancel, skip."""

from datetime import datetime, timedelta

from django import forms
from django.http import QueryDict

from orders.business.submissions import DEFAULT_PRIORITY
from orders.console.forms.fields import Reason, ReasonForm, exact_input, select

PRIORITIES = range(10)


class RetryForm(forms.Form):
    """Retries what is waiting: one step, or all steps of an order."""

    step = forms.CharField(required=False, max_length=120, empty_value=None)


class PauseForm(forms.Form):
    """Pauses something for some minutes, or until somebody resumes it."""

    minutes = forms.TypedChoiceField(
        label="How long",
        required=False,
        coerce=int,
        empty_value=None,
        choices=[
            ("", "until somebody resumes it"),
            *((10, "10 minutes"), (60, "1 hour"), (240, "4 hours"), (1440, "1 day")),
        ],
        widget=select(),
        error_messages={"invalid_choice": "Choose a time from the list."},
    )
    reason = Reason(
        required=True, error_messages={"required": "Give a reason. It is kept in the order’s history."}
    )

    def __init__(self, data: QueryDict | None = None, *, place: str = "pause") -> None:
        super().__init__(data, auto_id=f"{place}-%s", label_suffix="")

    def until(self, now: datetime) -> datetime | None:
        """When the pause ends by itself, if it does."""
        minutes = self.cleaned_data["minutes"]
        return now + timedelta(minutes=minutes) if minutes else None


class DecisionForm(ReasonForm):
    """A choice for a step that waits for a decision, with a note."""

    choice = forms.CharField(
        max_length=200, widget=forms.HiddenInput, error_messages={"required": "Choose one of the choices."}
    )

    def __init__(self, data: QueryDict | None = None, *, step: str) -> None:
        super().__init__(data, label_suffix="", auto_id=f"{step}-%s")
        self.fields["reason"].label = "Note"


_PRIORITY_WORDS = {
    max(PRIORITIES): f"{max(PRIORITIES)} (first)",
    DEFAULT_PRIORITY: f"{DEFAULT_PRIORITY} (usual)",
    min(PRIORITIES): f"{min(PRIORITIES)} (last)",
}


class PriorityForm(ReasonForm):
    """Sets an order's priority."""

    priority = forms.TypedChoiceField(
        label="Priority",
        coerce=int,
        choices=[(priority, _PRIORITY_WORDS.get(priority, str(priority))) for priority in PRIORITIES],
        widget=forms.Select(attrs={"class": "input input--inline", "aria-label": "Priority"}),
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose a priority from 0 to 9."),
    )


class TypedForm(ReasonForm):
    """An act that cannot be undone: it needs a reason, and a word typed to confirm it."""

    typed = forms.CharField(required=False, max_length=120, widget=exact_input())

    def __init__(self, data: QueryDict | None = None, *, word: str, reason: str = "") -> None:
        super().__init__(data, label_suffix="", auto_id="%s", initial={"reason": reason})
        self.word = word
        for field in self.fields.values():
            field.widget.attrs["required"] = True
        self.fields["typed"].label = f"Type {word} to confirm"

    def show_refusal(self, message: str) -> None:
        """Shows why the service refused: beside the word if it was not typed exactly, otherwise above the form."""
        typed = self.cleaned_data["typed"].replace(" ", "").lower() == self.word.lower()
        wrong = f"Nothing has been changed. Type {self.word} to confirm."
        self.add_error(None if typed else "typed", message if typed else wrong)
