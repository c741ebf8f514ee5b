"""What the API sends to operators of saved views."""

from rest_framework import serializers

from orders.api.representations import Out


class SavedViewOut(Out):
    """A query of the list of orders with a name. `at` is when it was saved or last changed, and `by` who did that.

    `problem` says why this release cannot read the query; empty if it can. Its owner can change it.
    """

    id = serializers.IntegerField()
    name = serializers.CharField()
    query = serializers.CharField()
    shared = serializers.BooleanField(source="is_shared")
    owner = serializers.CharField()
    at = serializers.DateTimeField()
    by = serializers.CharField()
    problem = serializers.CharField(allow_blank=True)


class SavedViewsOut(Out):
    """The views that an account sees: its own first, then those that others share, each part by name."""

    results = SavedViewOut(many=True)
