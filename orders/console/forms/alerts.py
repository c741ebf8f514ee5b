"""The forms on the page of an alert group, with the note that an order can have, too, and the query string of the
alerts' export."""

from django import forms

from orders.console.forms.fields import Key
from orders.services.operators.alerts import LONGEST_NOTE


class NoteForm(forms.Form):
    """A note on an alert group or an order."""

    text = forms.CharField(
        label="What should the next operator know?",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"class": "input", "rows": 4}),
        error_messages={
            "required": "Write the note before you add it.",
            "max_length": "Shorten the note to %(limit_value)s characters.",
        },
    )

    def __init__(self, data: object = None) -> None:
        super().__init__(data, auto_id="note-%s", label_suffix="")  # type: ignore[arg-type]


class GroupAlertsForm(forms.Form):
    """The query string of a group's page: its open or closed alerts, and where the page starts."""

    show = forms.ChoiceField(
        choices=[("open", "Open"), ("closed", "Closed")],
        required=False,
        error_messages={"invalid_choice": "Show open or closed alerts."},
    )
    after = forms.CharField(required=False)

    @property
    def shows_closed(self) -> bool:
        """Whether to list the closed alerts, and not the open ones."""
        self.is_valid()
        return self.cleaned_data.get("show") == "closed"

    @property
    def position(self) -> str:
        """Where the page starts; empty for the first page."""
        self.is_valid()
        return str(self.cleaned_data.get("after", ""))


class ExportForm(forms.Form):
    """Which alerts are exported: those of a group, or all."""

    group = Key()
