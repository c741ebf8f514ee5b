"""The forms that pause new orders, and a step in all orders."""

from django.http import QueryDict

from orders.console.forms.orders import PauseForm

INTAKE = "intake"
"""The place of the form that stops new orders."""


class PlacedPauseForm(PauseForm):
    """Pauses what is at one place of the console."""

    def __init__(self, data: QueryDict | None = None, *, place: str) -> None:
        super().__init__(data, place=place)
        self.name = f"{type(self).__name__} {place}"
        self.fields["reason"].error_messages["required"] = "Give a reason. It is kept in the audit log."
