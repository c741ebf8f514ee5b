"""Conditions on another table that are looked up row by row, by the index of the row's id."""

from django.db.models import BooleanField, Case, Exists, OuterRef, Q, Value, When

from orders.models import StepState


class LookedUp(Exists):
    """`Exists`, whatever the server expects to find.

    A page looks at so many orders at most. When the server expects few rows of the other table, it would rather find
    all of those first, and read that whole table where no index has them. `OFFSET 0` changes nothing but that.
    """

    template = "EXISTS(%(subquery)s OFFSET 0)"


def has_step(condition: Q) -> Q:
    """Whether an `OrderProcess` has a step of which this is true, looked up among its own.

    `CASE` keeps the other indexes of steps out of it: to have each order's steps among all that wait for an agent is to
    read the index of those for each order.
    """
    is_true = Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())
    return Q(LookedUp(StepState.objects.filter(is_true, process_id=OuterRef("order_id"))))
