"""The forms of the approvals: which are shown, and the note that goes with an answer."""

from django import forms

from orders.console.forms.fields import PageForm, Reason
from orders.vocabulary import ApprovalState


class ApprovalsForm(PageForm):
    """The query string of the list: which requests, and where the page starts."""

    VIEWS = (("", "Waiting"), ("all", "All"))

    show = forms.CharField(required=False)

    @property
    def chosen_view(self) -> str:
        """What is shown: all requests, or those that wait."""
        self.is_valid()
        return "all" if self.cleaned_data.get("show") == "all" else ""

    @property
    def chosen_state(self) -> str:
        """The state of what is shown; empty for all."""
        return "" if self.chosen_view else ApprovalState.WAITING


class NoteForm(forms.Form):
    """Why a request is declined or withdrawn."""

    note = Reason(
        label="Note", error_messages={"max_length": "Shorten the note to %(limit_value)s characters."}
    )
