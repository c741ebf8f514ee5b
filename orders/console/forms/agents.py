"""The forms on the page of the agents: pause one, and force its circuit."""

from django import forms

from orders.console.forms.fields import Reason, ReasonForm, select, text_input


class PauseForm(ReasonForm):
    """Pauses an agent."""


class ForceCircuitForm(forms.Form):
    """Holds an agent's circuit open or closed for a time."""

    state = forms.CharField(
        label="State",
        max_length=10,
        widget=select([("open", "open: nothing is sent"), ("closed", "closed: everything is sent")]),
    )
    seconds = forms.TypedChoiceField(
        label="Duration",
        coerce=float,
        choices=[
            ("300", "5 minutes"),
            ("900", "15 minutes"),
            ("3600", "1 hour"),
            ("28800", "8 hours"),
        ],
        widget=select(),
        error_messages=dict.fromkeys(
            ("required", "invalid_choice"), "Choose how long the circuit should be forced."
        ),
    )
    reason = Reason(widget=text_input(required=True))
