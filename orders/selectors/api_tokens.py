"""API tokens, as their owners and administrators see them."""

from collections.abc import Sequence

from django.db.models import Exists, OuterRef

from orders.models import ApiToken

MOST = 1_000
"""The most tokens that a list shows."""


def tokens(*, user_id: int | None = None) -> Sequence[ApiToken]:
    """The tokens of one account or of all, newest first, those that have expired too. Each knows whether the one that
    replaces it is still there."""
    successor = ApiToken.objects.filter(user=OuterRef("user"), beginning=OuterRef("replaced_by"))
    rows = ApiToken.objects.select_related("user").annotate(**{"has_successor": Exists(successor)})
    if user_id is not None:
        rows = rows.filter(user_id=user_id)
    return list(rows[:MOST])


def find_token(token_id: int, *, user_id: int | None) -> ApiToken | None:
    """A token of this account, or of any."""
    rows = ApiToken.objects.select_related("user").filter(pk=token_id)
    return (rows if user_id is None else rows.filter(user_id=user_id)).first()
