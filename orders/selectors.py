"""What pages, commands and the API read. Nothing here writes or locks."""

from datetime import datetime

from orders.models import LeaderLease


def last_sweep_at() -> datetime | None:
    """When a supervisor last finished a sweep; None if none ever has."""
    return LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).values_list("swept_at", flat=True).first()
