"""The forms of the saved views of the list of orders."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from orders.console.forms.fields import exact_input, text_input
from orders.selectors.desk.query import LONGEST_QUERY, QueryError
from orders.selectors.desk.saved_views import ViewRow
from orders.services.operators.saved_views import LONGEST_VIEW_NAME
from orders.wording.queries import read_query


class SavedViewForm(forms.Form):
    """A name, a query, and whether all operators see it."""

    name = forms.CharField(
        label="Name",
        max_length=LONGEST_VIEW_NAME,
        widget=text_input(autocomplete="off"),
        error_messages={
            "required": "Enter a name for the view.",
            "max_length": "Shorten the name to %(limit_value)s characters.",
        },
    )
    query = forms.CharField(
        label="Query",
        max_length=LONGEST_QUERY,
        widget=exact_input(),
        error_messages={
            "required": "Enter a query: a view of all orders is the list itself.",
            "max_length": "Shorten the query to %(limit_value)s characters.",
        },
    )
    is_shared = forms.BooleanField(label="Share with all operators", required=False)

    def __init__(self, data: Any = None, *, view: ViewRow | None = None, query: str = "") -> None:
        initial: dict[str, Any] = {"query": query}
        if view is not None:
            initial = {"name": view.name, "query": view.query, "is_shared": view.is_shared}
        super().__init__(data, auto_id="view-%s", label_suffix="", initial=initial)

    def clean_query(self) -> str:
        """Takes a query that names what there is."""
        text: str = self.cleaned_data["query"]
        try:
            read_query(text)
        except QueryError as error:
            raise ValidationError(str(error)) from error
        return text

    def show_refusal(self, message: str) -> None:
        """Shows why nothing was saved."""
        self.add_error(None, message)
