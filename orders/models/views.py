"""The queries of the list of orders that operators have given a name."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

LONGEST_VIEW_NAME = 60
"""Characters of a name. The column is wider, as an erasure appends a number so that names stay different."""


class SavedView(models.Model):
    """A query of the list of orders, with a name. Its owner sees it and, if it is shared, so does every operator.

    `at` is when it was saved or last changed, and `by` who did that. Only `orders.services.operators.saved_views`
    changes it.
    """

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    name = models.CharField(max_length=200)
    query = models.CharField(max_length=500)
    is_shared = models.BooleanField(default=False)
    at = models.DateTimeField(db_default=Now())
    by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint("owner", Lower("name"), name="an_owner_has_one_view_of_a_name"),
            models.UniqueConstraint(
                Lower("name"), condition=Q(is_shared=True), name="one_shared_view_has_a_name"
            ),
            models.CheckConstraint(
                condition=~Q(name="") & ~Q(query=""), name="a_view_has_a_name_and_a_query"
            ),
        ]

    def __str__(self) -> str:
        return self.name
