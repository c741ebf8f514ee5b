"""The forms on the page of an order: resubmit, retry, decide, priority, cancel, skip, settle."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from orders.console.forms.fields import Reason, ReasonForm, exact_input, text_input

LONGEST_RESULT = 4_000
DONE, NOT_DONE, COMPENSATED = "done", "not done", "compensated"
PRIORITIES = range(10)


class ResubmitForm(ReasonForm):
    """Resubmits an order: with `now` at once, otherwise after a wait during which it can be undone."""

    now = forms.BooleanField(required=False)


class RetryForm(forms.Form):
    """Retries what is waiting: one step, or all steps of an order."""

    step = forms.CharField(required=False, max_length=120, empty_value=None)


class DecisionForm(ReasonForm):
    """A choice for a step that waits for a decision, with a note."""

    choice = forms.CharField(
        max_length=200, widget=forms.HiddenInput, error_messages={"required": "Choose one of the choices."}
    )

    def __init__(self, data: QueryDict | None = None, *, step: str) -> None:
        super().__init__(data, label_suffix="", auto_id=f"{step}-%s")
        self.fields["reason"].label = "Note"


class PriorityForm(ReasonForm):
    """Sets an order's priority."""

    priority = forms.TypedChoiceField(
        label="Priority",
        coerce=int,
        choices=[(priority, str(priority)) for priority in PRIORITIES],
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


def _proposal(finding: Mapping[str, Any]) -> dict[str, Any]:
    """The form's values as far as the remote service's own answer settles the step."""
    match finding.get("finding"):
        case "done":
            return {"how": DONE, "result": finding.get("result") or {}}
        case "not_done":
            return {"how": NOT_DONE, "result": {}}
    return {"result": {}}


class SettleForm(forms.Form):
    """Settles a step by hand: whether it was done, with the proof."""

    how = forms.ChoiceField(
        label="What happened",
        choices=[
            (DONE, "It was done. The order continues with the response below."),
            (NOT_DONE, "It was not done. The next attempt uses a new key."),
        ],
        widget=forms.RadioSelect,
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose whether the step was done."),
    )
    result = forms.JSONField(
        label="Response, as JSON, if it was done",
        help_text="What the remote service would have answered. Later steps may need it.",
        required=False,
        widget=forms.Textarea(
            attrs={"class": "input", "rows": 5, "maxlength": LONGEST_RESULT, "spellcheck": "false"}
        ),
        error_messages={"invalid": "Enter a JSON object, as the remote service would have answered."},
    )
    reason = Reason(label="Proof", widget=text_input(required=True))

    def __init__(
        self,
        data: QueryDict | None = None,
        *,
        is_compensation: bool,
        finding: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, label_suffix="", auto_id="%s", initial=_proposal(finding or {}))
        if is_compensation:
            self.fields["how"] = forms.ChoiceField(
                choices=[(COMPENSATED, "")], widget=forms.HiddenInput, initial=COMPENSATED
            )
            del self.fields["result"]

    def clean_result(self) -> dict[str, Any]:
        """Takes a JSON object; nothing counts as an empty one."""
        result = self.cleaned_data["result"]
        if result is None:
            return {}
        if not isinstance(result, dict):
            raise forms.ValidationError(self.fields["result"].error_messages["invalid"], code="invalid")
        return result
