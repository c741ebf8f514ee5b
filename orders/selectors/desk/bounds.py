"""Where counting stops, so that a count costs the same however many rows are stored."""

from typing import Any

from django.db.models import QuerySet

MOST_COUNTED = 10_000
"""Counts stop one above this; people are shown "10,000+"."""


def bounded_count(rows: QuerySet[Any, Any], most: int = MOST_COUNTED) -> int:
    """How many rows match, counted up to `most` + 1. One query."""
    return rows.order_by()[: most + 1].count()
