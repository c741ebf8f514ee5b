"""A condition on another table that is looked up row by row, by the index of the row's id."""

from django.db.models import Exists


class LookedUp(Exists):
    """`Exists`, whatever the server expects to find.

    A page looks at so many orders at most. When the server expects few rows of the other table, it would rather find
    all of those first, and read that whole table where no index has them. `OFFSET 0` changes nothing but that.
    """

    template = "EXISTS(%(subquery)s OFFSET 0)"
