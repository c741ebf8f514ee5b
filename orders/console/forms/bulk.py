"""The forms of a bulk action: which orders it takes, and how."""

from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from orders.console.forms.fields import Key, PageForm, Reason, exact_input, text_input
from orders.console.forms.filters import OrderFilterForm
from orders.selectors.desk.alert_groups import find_group
from orders.selectors.desk.bulk_selection import MOST_CHOSEN, Selection
from orders.services.operators.bulk import FASTEST, MOST, MOST_WAVES, SLOWEST, STOP_SHARE, WAVES, wave_sizes
from orders.vocabulary import BulkItemState, BulkKind
from orders.wording.state_labels import BULK_KINDS

KINDS = tuple((kind, f"{act} orders") for kind, act in BULK_KINDS.items())
"""The kinds, each as an act on orders: "Cancel orders"."""


class OrderIds(forms.Field):
    """The orders that were ticked in the list."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Sequence[str] | None) -> list[UUID]:
        """Takes at most `MOST_CHOSEN` ids; duplicates count once."""
        try:
            ids = list(dict.fromkeys(UUID(text) for text in value or ()))
        except ValueError as error:
            raise ValidationError("Choose orders from the list.") from error
        if len(ids) > MOST_CHOSEN:
            raise ValidationError(f"Choose at most {MOST_CHOSEN} orders.")
        return ids


class SelectionForm(forms.Form):
    """Which orders a bulk action takes: those of an alert group, those that failed again after another, the ones
    that were ticked, or those of a filter."""

    do = forms.ChoiceField(choices=KINDS, required=False)
    group = Key()
    upto = Key()
    failed_of = Key()
    orders = OrderIds(required=False)

    def selection(self) -> Selection | None:
        """Returns the selection; None if it names an impossible group or impossible orders, or nothing at all."""
        self.is_valid()
        if {"group", "orders", "failed_of"} & self.errors.keys():
            return None
        values = self.cleaned_data
        kind = values.get("do") or BulkKind.RESUBMIT.value
        if values["group"] is not None:
            group = find_group(values["group"])
            return None if group is None else Selection(kind=kind, group=group, upto=values.get("upto"))
        if values["failed_of"] is not None:
            return Selection(kind=kind, failed_of=values["failed_of"])
        if values["orders"]:
            return Selection(kind=kind, ids=values["orders"])
        order_filter = OrderFilterForm(
            self.data.dict() if isinstance(self.data, QueryDict) else self.data
        ).filter
        return None if order_filter.is_empty else Selection(kind=kind, order_filter=order_filter)


class BulkActionsForm(PageForm):
    """The query string of the list: acts on many orders, or `of` one, and where the page starts."""

    of = forms.ChoiceField(choices=[("one", "One order")], required=False)

    @property
    def is_of_one(self) -> bool:
        """Whether it lists the acts on one order."""
        self.is_valid()
        return self.cleaned_data.get("of") == "one"


class BulkItemsForm(PageForm):
    """The query string of a bulk action's page: the state of the listed orders, and where the page starts."""

    state = forms.ChoiceField(
        choices=[(state.value, state.name) for state in BulkItemState],
        required=False,
        error_messages={"invalid_choice": "No order of a bulk action is in the state %(value)s."},
    )
    format = forms.ChoiceField(choices=[("csv", "CSV")], required=False)

    @property
    def chosen_state(self) -> str:
        """The state; empty for all orders."""
        self.is_valid()
        return str(self.cleaned_data.get("state", ""))


class Waves(forms.CharField):
    """The sizes of the waves, with commas between them."""

    def clean(self, value: Any) -> list[int]:
        """Takes whole numbers from 1; the last may be 0, for all the rest."""
        try:
            sizes = [int(part) for part in super().clean(value).split(",")]
        except ValueError as error:
            raise ValidationError(
                "Enter whole numbers with commas between them, such as 1, 10, 100, 0."
            ) from error
        if any(size < 1 for size in sizes[:-1]) or sizes[-1] < 0:
            raise ValidationError(
                "Enter sizes of at least 1. Only the last may be 0, for all remaining orders."
            )
        if len(sizes) > MOST_WAVES or max(sizes) > MOST:
            raise ValidationError(f"Enter at most {MOST_WAVES} sizes, each of at most {MOST:,} orders.")
        return sizes


def _number(label: Any, *, smallest: float, largest: float, wrong: Any, initial: str) -> forms.FloatField:
    errors = dict.fromkeys(("required", "invalid", "min_value", "max_value"), wrong)
    widget = text_input(inputmode="decimal", maxlength=10, **{"class": "input input--number"})
    return forms.FloatField(
        label=label,
        min_value=smallest,
        max_value=largest,
        error_messages=errors,
        widget=widget,
        initial=initial,
    )


class BulkActionForm(forms.Form):
    """How a bulk action goes through its orders. `typed` is their number, where it must be confirmed."""

    reason = Reason(help_text="Shown in each order’s history and in the audit log.")
    waves = Waves(
        label="Orders in each wave",
        max_length=60,
        initial=", ".join(map(str, WAVES)),
        widget=text_input(),
        help_text=("Each wave waits for the results of the one before. 0 means all remaining orders."),
    )
    rate = _number(
        "Orders per second, at most",
        smallest=SLOWEST,
        largest=FASTEST,
        wrong="Enter a number from 0.1 to 1,000, such as 20.",
        initial="20",
    )
    stop_percent = _number(
        "Pause if failures exceed (%)",
        smallest=0,
        largest=100,
        wrong="Enter a number from 0 to 100.",
        initial="20",
    )
    typed = forms.IntegerField(required=False, widget=exact_input(inputmode="numeric", maxlength=10))
    token = forms.CharField(
        max_length=200, required=False, widget=forms.HiddenInput, initial=lambda: token_urlsafe(16)
    )
    seen = Key(widget=forms.HiddenInput)

    def __init__(self, data: QueryDict | None = None, *, count: int) -> None:
        super().__init__(data, auto_id="%s", label_suffix="")
        self._count = count
        typed = self.fields["typed"]
        typed.label = f"Type the number of orders, {count}, to confirm"
        typed.error_messages["invalid"] = self._wrong_count(count)

    def settings(self) -> dict[str, Any]:
        """How the action of a valid form goes through its orders, as the service takes it."""
        values = self.cleaned_data
        return {
            "waves": values["waves"],
            "stop_share": values["stop_percent"] / 100,
            "rate": values["rate"],
        }

    @property
    def has_wrong_pace(self) -> bool:
        """Whether one of the fields that say how fast it goes is wrong."""
        return bool({"waves", "rate", "stop_percent"} & self.errors.keys())

    def sizes(self) -> list[int]:
        """How many orders each wave takes, as far as the form can be read."""
        return wave_sizes(self._read("waves") or WAVES, self._count)

    def percent(self) -> float:
        """The share of failures at which the action pauses, as far as the form can be read."""
        percent = self._read("stop_percent")
        return float(STOP_SHARE * 100 if percent is None else percent)

    def _read(self, name: str) -> Any:
        """The value of a field; None if none was sent, or a wrong one."""
        return self.cleaned_data.get(name) if self.is_bound and name not in self.errors else None

    @staticmethod
    def _wrong_count(count: int) -> str:
        return f"Type {count} to confirm."

    def ask_for_count(self, count: int) -> None:
        """Asks for the number of orders to be typed again."""
        self.add_error("typed", self._wrong_count(count))
