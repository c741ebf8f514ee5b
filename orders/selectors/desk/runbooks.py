"""What this installation itself says about error codes."""

from orders.models import OwnRunbook


def own_runbook(code: str) -> OwnRunbook | None:
    """The installation's own text about a code; None if nobody has written one. One query."""
    return OwnRunbook.objects.filter(pk=code).first()
