"""Branches of a workflow: steps that run only on a condition, and steps that run once for each item of a list.

A step that runs for each item has a row of its own from the start, which joins the others: they are added when its turn
comes, as `name:1`, `name:2` and so on, and it is completed once they are. All functions here are pure.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from orders.engine.errors import SaswebError
from orders.engine.runtime.text import keepable_json, strict_json

MOST_ITEMS = 100
"""How many items a step runs for, at most. Their results travel together to the steps that need them."""
SEPARATOR = ":"
"""Between a step's name and the number of its item."""

When: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
"""Whether a step is to run, by the order's data and the results of the steps that it comes after."""
Each: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], Sequence[Mapping[str, Any]]]
"""What a step runs for, by the same: for each item what its agent needs."""


class BranchError(SaswebError):
    """Raised when a business's own code cannot decide a branch. Its text says of which step, and why."""


class Facts(NamedTuple):
    """What branches are decided on: the order's data, and the results of its completed steps by their names.

    The result of a step that ran for each item of a list is the list of its items' results.
    """

    data: Mapping[str, Any]
    results: Mapping[str, Any]


class NewItem(NamedTuple):
    """An item's step, to be added beside the joint of that id. Its agent gets `request`."""

    joint: int
    name: str
    agent: str
    request: Mapping[str, Any]


def item_name(step: str, number: int) -> str:
    """The name of a step's item. The first has number 1."""
    return f"{step}{SEPARATOR}{number}"


def declared_name(step: str) -> str:
    """The name that a step is declared with, which may be an item's."""
    return step.partition(SEPARATOR)[0]


def is_item(step: str) -> bool:
    """Whether this is the name of a step's item."""
    return SEPARATOR in step


def holds(when: When | None, step: str, facts: Facts) -> bool:
    """Whether a step is to run; one without a condition is. Raises `BranchError` if its condition fails."""
    try:
        return when is None or bool(when(*facts))
    except Exception as error:
        raise BranchError(f"the condition of step {step!r} failed: {error!r}") from error


def items_of(each: Each, step: str, facts: Facts) -> list[dict[str, Any]]:
    """What a step runs for, as it is stored. Raises `BranchError` if its list fails, is too long, or has anything but
    objects that can be stored."""
    try:
        items = list(each(*facts))
    except Exception as error:
        raise BranchError(f"the items of step {step!r} failed: {error!r}") from error
    if len(items) > MOST_ITEMS:
        raise BranchError(f"step {step!r} has {len(items)} items; the most is {MOST_ITEMS}")
    return [_object_of(item, step) for item in items]


def _object_of(item: Any, step: str) -> dict[str, Any]:
    """An item as it is stored. Raises `BranchError` if it cannot be."""
    if not isinstance(item, Mapping):
        raise BranchError(f"an item of step {step!r} is no object but {item!r}")
    try:
        stored: dict[str, Any] = keepable_json(dict(item))
        strict_json(stored)
    except (TypeError, ValueError, RecursionError) as error:
        raise BranchError(f"an item of step {step!r} cannot be stored: {error}") from error
    return stored
