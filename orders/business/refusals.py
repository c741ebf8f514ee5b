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
CountLeft: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, int]]
"""Says how many are left of each product, by its code, as the remote service says it in its `detail`."""
RefusedCountry: TypeAlias = Callable[[Mapping[str, Any]], str]
"""Says to which country nothing is delivered, by its code, as the remote service says it in its `detail`; "" if to
none."""


@dataclass(frozen=True, kw_only=True)
class RefusalWords:
    """What is said while a step waits for the customer. What is None is said in the words of the situation.

    `in_list` is what a list of orders shows. `explain` makes the first sentences; if they name lines, `names_lines`,
    the kind is asked for their names (`line_names`). `sentence` follows, or `again` once she has changed something and
    it was declined again. `reason` says why the order is cancelled if she did nothing in time. `count_left` is for her
    form to order fewer: it offers what is left. `refused_country` is for her form to give another address: it does not
    offer that country. `nothing_left` is said in place of `sentence` and `again` where none of
    what she ordered is left, so that she can only cancel, and `nothing_left_headline` in place of `headline`.
    """

    in_list: Text | None = None
    headline: Text | None = None
    explain: Explain | None = None
    names_lines: bool = True
    count_left: CountLeft | None = None
    refused_country: RefusedCountry | None = None
    nothing_left: Text | None = None
    nothing_left_headline: Text | None = None
    sentence: Text | None = None
    again: Text | None = None
    reason: Text | None = None
    icon: str | None = None
