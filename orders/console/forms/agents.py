"""The forms on the page of the agents: pause one, limit it, and force its circuit."""

from django import forms

from orders.console.forms.fields import Reason, ReasonForm, select, text_input
from orders.services.operators.agents import HIGHEST_CAPACITY, HIGHEST_RATE, LOWEST_RATE


class PauseForm(ReasonForm):
    """Pauses an agent."""


class LimitForm(ReasonForm):
    """Limits what an agent is sent. An empty field stands for the agent's own limit."""

    rate = forms.FloatField(
        label="Calls a second",
        required=False,
        min_value=LOWEST_RATE,
        max_value=HIGHEST_RATE,
        widget=forms.NumberInput(attrs={"class": "input", "step": "any"}),
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"),
            f"Enter a number of calls a second from {LOWEST_RATE} to {HIGHEST_RATE:,.0f}.",
        ),
    )
    capacity = forms.IntegerField(
        label="Calls at once",
        required=False,
        min_value=1,
        max_value=HIGHEST_CAPACITY,
        widget=forms.NumberInput(attrs={"class": "input"}),
        error_messages=dict.fromkeys(
            ("invalid", "min_value", "max_value"),
            f"Enter a whole number of calls at once from 1 to {HIGHEST_CAPACITY:,}.",
        ),
    )
    field_order = ("rate", "capacity", "reason")


class ForceCircuitForm(forms.Form):
    """Holds an agent's circuit open or closed for a time."""

    state = forms.CharField(
        label="State",
        max_length=10,
        widget=select([("open", "send nothing (open)"), ("closed", "send everything (closed)")]),
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
