"""The filters of the console's lists, as read from a query string."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from orders.business import registry
from orders.console.forms.fields import Key, exact_input, select, text_input
from orders.console.forms.ranges import Minute
from orders.selectors.desk import audit
from orders.selectors.desk.filters import LEAST_PART, LEAST_WORDS, LONGEST, NAMES, NOTHING_DONE, OrderFilter
from orders.selectors.desk.query import LONGEST_QUERY, Condition, QueryError
from orders.selectors.desk.query_fields import FIELDS
from orders.selectors.desk.query_values import BadValueError, read_age
from orders.wording.acts import act_label
from orders.wording.queries import check_name, read_query
from orders.wording.standings import STANDINGS
from orders.wording.state_labels import ORDER_STATES, Pill

ANY = ("", "any")
CONDITIONS = ("customer", "total", "since", "until")
"""The fields beside the drop-down lists, as the query language calls them, too."""
NAMED = {"workflow": "workflow", "step": "step", "agent": "agent", "waiting": "waiting", "code": "error"}
"""The fields that take a name of this installation, and what the query language calls them."""


def _choices(pills: Mapping[Any, Pill]) -> list[tuple[str, Any]]:
    return [ANY, *((str(name), pill.label) for name, pill in pills.items())]


class OrderFilterForm(forms.Form):
    """Which orders are listed, exported, or taken by a bulk action.

    The names of steps and agents are known to the database only: `offer` fills their drop-down lists.
    """

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=LONGEST_QUERY,
        widget=exact_input(**{"aria-describedby": "f-q-hint"}),
        error_messages={"max_length": "Shorten the query to %(limit_value)s characters."},
    )
    state = forms.ChoiceField(
        label="State",
        required=False,
        choices=_choices(ORDER_STATES),
        widget=select(),
        help_text="How far it has come: begun, done, failed or cancelled.",
        error_messages={"invalid_choice": "Unknown state %(value)s. Choose one from the list."},
    )
    kind = forms.ChoiceField(
        label="Standing",
        required=False,
        choices=_choices(STANDINGS),
        widget=select(),
        help_text="How it is going right now, or what it waits for.",
        error_messages={"invalid_choice": "Unknown standing %(value)s. Choose one from the list."},
    )
    workflow = forms.CharField(label="Workflow", required=False, max_length=60, widget=select())
    step = forms.CharField(label="Step", required=False, max_length=LONGEST, widget=select())
    agent = forms.CharField(label="Agent", required=False, max_length=LONGEST, widget=select())
    waiting = forms.CharField(label="Waiting", required=False, max_length=LONGEST, widget=select())
    code = forms.CharField(
        label="Alert code",
        required=False,
        max_length=60,
        widget=exact_input(**{"class": "input filters__short"}),
    )
    older = forms.CharField(
        label="Older than",
        required=False,
        max_length=LONGEST,
        widget=exact_input(
            **{"class": "input filters__short", "placeholder": "30m, 2h, 3d", "maxlength": 10}
        ),
    )
    priority = forms.ChoiceField(
        label="Priority",
        required=False,
        choices=[ANY, *((str(priority), str(priority)) for priority in range(10))],
        widget=select(),
        error_messages={"invalid_choice": "Choose a priority from 0 to 9."},
    )

    def __init__(self, query: Mapping[str, Any]) -> None:
        super().__init__(query, auto_id="f-%s", label_suffix="")

    def offer(self, *, steps: Sequence[str], agents: Sequence[str]) -> None:
        """Fills the drop-down lists of workflows, steps and agents. The selected name is always among them."""
        workflows = [kind.name for kind in registry.kinds()]
        if len(workflows) == 1 and not self.filter.workflow:
            del self.fields["workflow"]
        for name, present, first in (
            ("workflow", workflows, [ANY]),
            ("step", steps, [ANY]),
            ("agent", agents, [ANY]),
            ("waiting", agents, [ANY, (NOTHING_DONE, "for anything")]),
        ):
            selected = getattr(self.filter, name)
            names = present if selected in ("", NOTHING_DONE, *present) else [*present, selected]
            if name in self.fields:
                self.fields[name].widget.choices = [*first, *((item, item) for item in names)]

    def clean_q(self) -> str:
        """Takes a query. Its free words are an email, an order ID or a part of one, a total, or words."""
        text: str = self.cleaned_data["q"]
        try:
            query = read_query(text)
        except QueryError as error:
            raise ValidationError(str(error)) from error
        if 0 < len(query.text) < LEAST_WORDS:
            raise ValidationError(
                "Enter at least %(least)s characters, or %(digits)s of an order ID.",
                params={"least": LEAST_WORDS, "digits": LEAST_PART},
            )
        return text

    def clean(self) -> dict[str, Any]:
        """Refuses names that nothing here has."""
        for name, field in NAMED.items():
            value = self.cleaned_data.get(name, "")
            try:
                if value and value != NOTHING_DONE:
                    check_name(field, value)
            except QueryError as error:
                self.add_error(name, str(error))
        return self.cleaned_data

    def clean_older(self) -> str:
        """Takes an age such as 30m."""
        text: str = self.cleaned_data["older"]
        try:
            if text:
                read_age(text)
        except BadValueError as error:
            raise ValidationError(str(error)) from error
        return text

    @property
    def filter(self) -> OrderFilter:
        """The filter. If a field has an error, the filter keeps what was entered, lists the errors, and matches
        nothing."""
        problems = tuple(str(error) for errors in self.errors.values() for error in errors)
        values = {
            name: self.cleaned_data.get(name, str(self.data.get(name, "")).strip()[:LONGEST])
            for name in NAMES
        }
        return OrderFilter(**values, problems=problems)


class FoldedFiltersForm(forms.Form):
    """What stands beside the drop-down lists: conditions that are written into the query once they are submitted.

    `into` says that they, or the lists, were.
    """

    customer = forms.CharField(
        label="Customer",
        required=False,
        max_length=LONGEST,
        widget=exact_input(placeholder="name or email"),
    )
    total = forms.CharField(
        label="Total",
        required=False,
        max_length=40,
        widget=exact_input(
            **{"class": "input filters__short", "placeholder": ">30, 39.00, 20..50", "inputmode": "text"}
        ),
    )
    since = forms.CharField(
        label="Placed since",
        required=False,
        max_length=40,
        widget=exact_input(**{"class": "input filters__short", "placeholder": "2h, yesterday"}),
    )
    until = forms.CharField(
        label="Placed until",
        required=False,
        max_length=40,
        widget=exact_input(**{"class": "input filters__short", "placeholder": "2h, today, 2026-11"}),
    )
    into = forms.CharField(required=False)

    def __init__(self, query: Mapping[str, Any]) -> None:
        super().__init__(query, auto_id="f-%s", label_suffix="")

    def clean(self) -> dict[str, Any]:
        """Refuses what the query language cannot read."""
        for name in CONDITIONS:
            value = self.cleaned_data.get(name, "")
            try:
                if value:
                    FIELDS[name].read(value)
            except BadValueError as error:
                self.add_error(name, str(error))
        return self.cleaned_data

    @property
    def is_sent(self) -> bool:
        """Whether the lists were submitted, or a condition of this form."""
        return not {"into", *CONDITIONS}.isdisjoint(self.data)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions, of a valid form."""
        values = ((name, self.cleaned_data[name]) for name in CONDITIONS)
        return tuple(Condition(name=name, values=(value,)) for name, value in values if value)

    @property
    def problems(self) -> tuple[str, ...]:
        """The errors, as sentences."""
        return tuple(str(error) for errors in self.errors.values() for error in errors)


class AuditFilterForm(forms.Form):
    """Which entries of the audit log are listed or exported."""

    actor = forms.CharField(label="Actor", required=False, max_length=120, widget=text_input())
    act = forms.CharField(label="Action", required=False, max_length=40, widget=select())
    target = forms.CharField(label="Target", required=False, max_length=120, widget=text_input())
    allowed = forms.ChoiceField(
        label="Result",
        required=False,
        choices=[ANY, ("yes", "done"), ("no", "refused")],
        widget=select(),
        error_messages={"invalid_choice": "Choose a result from the list."},
    )
    kind = forms.ChoiceField(
        label="Kind of target",
        required=False,
        choices=[ANY, *((name, name) for name in audit.TARGETS)],
        widget=select(),
        error_messages={"invalid_choice": "Choose a kind of target from the list."},
    )
    since = Minute(label="From (UTC)")
    until = Minute(label="To (UTC)")
    before = Key(widget=forms.HiddenInput)

    def __init__(self, query: Mapping[str, Any]) -> None:
        super().__init__(query, auto_id="%s", label_suffix="")

    def offer(self, acts: Sequence[str]) -> None:
        """Fills the drop-down list of actions. The selected one is always among them."""
        selected = audit.act_in_words(self.filter.act)
        names = acts if selected in ("", *acts) else [selected, *acts]
        self.fields["act"].widget.choices = [ANY, *((name, act_label(name)) for name in names)]

    def clean_until(self) -> datetime | None:
        """Takes a time or, in a url, a day, which then is included."""
        until: datetime | None = self.cleaned_data["until"]
        is_day = "T" not in str(self.data.get("until", ""))
        try:
            return until + timedelta(days=1) if until and is_day else until
        except OverflowError:
            return None

    @property
    def filter(self) -> audit.AuditFilter:
        """The filter."""
        self.is_valid()
        return audit.AuditFilter(**{name: value for name, value in self.cleaned_data.items() if value})


class OutboxForm(forms.Form):
    """Which messages of the outbox are listed, and the key that the page starts below."""

    VIEWS = (
        *(("", "All"), ("waiting", "Waiting"), ("failed", "Failed")),
        *(("sent", "Sent"), ("skipped", "Skipped")),
    )

    view = forms.ChoiceField(
        choices=VIEWS,
        required=False,
        error_messages={"invalid_choice": "There is no view %(value)s of the outbox."},
    )
    before = Key()

    @property
    def chosen_view(self) -> str:
        """The name of the view; empty for all messages."""
        self.is_valid()
        return str(self.cleaned_data.get("view", ""))

    @property
    def position(self) -> int | None:
        """The key that the page starts below; None for the first page, and for an invalid key."""
        self.is_valid()
        return self.cleaned_data.get("before")
