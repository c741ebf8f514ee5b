"""What the customers of a kind of order read when a step is declined: what it is, and what they can do. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from django.utils.functional import Promise

Text: TypeAlias = str | Promise


class OrderedLine(Protocol):
    """A line of an order, as far as a sentence needs it."""

    @property
    def sku(self) -> str:
        """The code of what was ordered."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def quantity(self) -> int:
        """How many were ordered."""


Explain: TypeAlias = Callable[[Mapping[str, Any], Sequence[OrderedLine]], Sequence[Text]]
"""Makes sentences of what the remote service says in its `detail`, which may be anything, and of the order's lines."""


@dataclass(frozen=True, kw_only=True)
class RefusalWords:
    """What is said while a step waits for the customer. What is None is said in the words of the situation.

    `in_list` is what a list of orders shows. `explain` makes the first sentences; `sentence` follows, or `again` once
    she has changed something and it was declined again. `reason` says why the order is cancelled if she did nothing in
    time.
    """

    in_list: Text | None = None
    headline: Text | None = None
    explain: Explain | None = None
    sentence: Text | None = None
    again: Text | None = None
    reason: Text | None = None
    icon: str | None = None
