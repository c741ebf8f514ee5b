"""The forms of the hand-over: the note of who leaves, and to whom it is sent."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings

from orders.console.forms.fields import select
from orders.services.operators.handover import LONGEST_NOTE


class Moment(forms.DateTimeField):
    """A time that the page itself has put into a form."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)

    def to_python(self, value: Any) -> datetime | None:
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            return None
        return at if at.tzinfo else None


class HandoverNoteForm(forms.Form):
    """What the next shift should know."""

    text = forms.CharField(
        label="What should the next shift know?",
        max_length=LONGEST_NOTE,
        widget=forms.Textarea(attrs={"class": "input", "rows": 5}),
        error_messages={
            "required": "Write the note before you save it.",
            "max_length": "Shorten the note to %(limit_value)s characters.",
        },
    )
    since = Moment()

    def __init__(self, data: Any = None, *, since: datetime | None = None) -> None:
        initial = {"since": since.isoformat() if since else ""}
        super().__init__(data, auto_id="handover-note-%s", label_suffix="", initial=initial)


class SendForm(forms.Form):
    """To whom the hand-over is sent: the alerts' address, if there is one, or an operator's account that has one."""

    to = forms.CharField(label="Send by email to", required=False, max_length=150, widget=select())
    since = Moment()

    def __init__(
        self, data: Any = None, *, accounts: Iterable[str] = (), since: datetime | None = None
    ) -> None:
        initial = {"since": since.isoformat() if since else ""}
        super().__init__(data, auto_id="handover-send-%s", label_suffix="", initial=initial)
        alerts = [("", "the alerts’ address")] if settings.CONFIG.alert_email else []
        self.recipients = [*alerts, *((name, name) for name in accounts)]
        self.fields["to"].widget.choices = self.recipients
