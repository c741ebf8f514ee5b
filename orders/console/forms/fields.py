"""Fields and widgets that the console's forms share."""

from collections.abc import Iterable
from typing import Any

from django import forms

from orders.fields.numbers import LARGEST_ID
from orders.selectors.paging import Position, read_position

LONGEST_REASON = 200


class Reason(forms.CharField):
    """The reason for an act. It is kept in the order's history and in the audit log."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **{
                "label": "Reason",
                "required": False,
                "max_length": LONGEST_REASON,
                "widget": text_input(),
                "error_messages": {"max_length": "Shorten the reason to %(limit_value)s characters."},
                **options,
            }
        )


class Key(forms.IntegerField):
    """The key of a row, or a page's position in a list; None when it is not given."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "min_value": 0, "max_value": LARGEST_ID, **options})


def text_input(**attributes: Any) -> forms.TextInput:
    """Returns a text field in the console's style."""
    return forms.TextInput(attrs={"class": "input", **attributes})


def exact_input(**attributes: Any) -> forms.TextInput:
    """Returns a text field for something that must be typed exactly: no completion, no spelling check."""
    return text_input(autocomplete="off", spellcheck="false", **attributes)


def select(choices: Iterable[Any] = ()) -> forms.Select:
    """Returns a drop-down list in the console's style."""
    return forms.Select(attrs={"class": "input"}, choices=choices)


def first_error(form: forms.Form) -> str:
    """Returns the first error of an invalid form, for a message above the page."""
    return str(next(iter(form.errors.values()))[0])


class ReasonForm(forms.Form):
    """A button with a reason."""

    reason = Reason()


class PageForm(forms.Form):
    """The query string of a list: `after` is the key that the page starts after."""

    after = Key()

    @property
    def position(self) -> int | None:
        """The key that the page starts after; None for the first page, and for an invalid key."""
        self.is_valid()
        return self.cleaned_data.get("after")


class OrderPageForm(forms.Form):
    """The query string of a list of orders: where the page starts, among the stored orders or the archived ones."""

    after = forms.CharField(required=False)
    archived = forms.CharField(required=False)

    @property
    def position(self) -> Position | None:
        """Where the page starts; None for the first page, and for a URL that somebody has changed."""
        return self._read("after")

    @property
    def archived_position(self) -> Position | None:
        """Where the page starts in the archive; None if it starts before the archive, and for a changed URL."""
        return self._read("archived")

    def _read(self, name: str) -> Position | None:
        return read_position(self.cleaned_data[name]) if self.is_valid() else None
