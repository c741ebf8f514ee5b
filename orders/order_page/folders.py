"""Where the templates of an order's pages are."""

from collections.abc import Sequence

from orders.business.registry import find_kind

GENERAL = "order"
"""The folder of the templates for kinds that have none of their own."""


def templates(workflow: str, name: str) -> Sequence[str]:
    """The template of this name of a kind of order, and then the general one."""
    kind = find_kind(workflow)
    return [f"{folder}/{name}" for folder in (kind.templates if kind else "", GENERAL) if folder]
