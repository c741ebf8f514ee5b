"""What operators send to the API about saved views."""

from orders.api.fields import Strict, Switch, Text
from orders.api.operator_order_queries import readable
from orders.selectors.desk.query import LONGEST_QUERY
from orders.services.operators.saved_views import LONGEST_VIEW_NAME

SHARED = "Whether all operators see it."


class Readable(Text):
    """A query of the list of orders."""

    def __init__(self, **options: object) -> None:
        super().__init__(max_length=LONGEST_QUERY, **options)

    def to_internal_value(self, data: object) -> str:
        return readable(super().to_internal_value(data))


class SavedViewIn(Strict):
    """A name and a query of the list of orders, such as `state:error agent:carrier`."""

    name = Text(max_length=LONGEST_VIEW_NAME)
    query = Readable()
    shared = Switch(default=False, help_text=SHARED, source="is_shared")


class SavedViewChangeIn(Strict):
    """What is to change of a view: its name, its query, and whether all operators see it."""

    least_members = 1

    name = Text(max_length=LONGEST_VIEW_NAME, required=False)
    query = Readable(required=False)
    shared = Switch(required=False, help_text=SHARED, source="is_shared")
