"""Which orders a bulk action is to take: those of a group of alerts, those that a filter finds, or chosen ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from orders.models import AlertGroup, OrderProcess
from orders.selectors.desk import search
from orders.selectors.desk.alerts import count_orders_of_group, orders_of_group
from orders.selectors.desk.filters import NAMES, OrderFilter, in_words
from orders.selectors.desk.standing import Tries
from orders.vocabulary import BulkKind, ProcessState

MOST = 10_000
"""Orders that one choice takes at most."""
MOST_CHOSEN = 500
"""Orders that can be named one by one."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`group` with its alerts up to number `upto`, or these `ids`, or what `wanted` finds.

    For a resubmission only orders in Error are taken, since no other can be resubmitted.
    """

    kind: str
    group: AlertGroup | None = None
    upto: int | None = None
    ids: Sequence[UUID] = ()
    wanted: OrderFilter | None = None

    @property
    def what(self) -> str:
        """Which orders, in words."""
        if self.group is not None:
            about = f"{self.group.agent} {self.group.code}".strip()
            return f"open alerts “{about}: {self.group.pattern}”"[:300]
        if self.wanted is not None:
            return in_words(self.wanted)[:300]
        return f"{len(self.ids)} chosen orders"

    @property
    def query(self) -> dict[str, Any]:
        """It as it is kept with the action."""
        if self.group is not None:
            return {"group": self.group.pk, "upto": self.upto}
        if self.wanted is not None:
            return {name: getattr(self.wanted, name) for name in NAMES if getattr(self.wanted, name)}
        return {}

    @property
    def fields(self) -> list[tuple[str, str]]:
        """It as fields of a form, from which the form makes it again."""
        if self.ids:
            return [("orders", str(one)) for one in self.ids]
        return [(name, str(value)) for name, value in self.query.items() if value is not None]

    def address(self, kind: str) -> str:
        """The query of an address that chooses the same for another kind of act."""
        return urlencode([*self.fields, ("do", kind)])

    @property
    def problems(self) -> tuple[str, ...]:
        return self.wanted.problems if self.wanted else ()


def count(choice: Choice, *, tries: Tries, now: datetime) -> int:
    """How many orders it takes now, counted up to `MOST` + 1."""
    if choice.group is not None:
        return count_orders_of_group(choice.group.pk, upto=choice.upto, most=MOST + 1)
    if (wanted := _wanted(choice)) is not None:
        found = search.count(
            wanted, most=MOST, now=now
        )  # further than the list counts: this is what is acted on
        if found is not None:
            return found
    return len(orders_of(choice, tries=tries, now=now))


def orders_of(choice: Choice, *, tries: Tries, now: datetime) -> list[UUID]:
    """The orders that it takes now, `MOST` + 1 at most."""
    if choice.group is not None:
        return orders_of_group(choice.group.pk, upto=choice.upto, most=MOST + 1)
    if (wanted := _wanted(choice)) is not None:
        return list(search.matching(wanted, most=MOST + 1, tries=tries, now=now))
    found = OrderProcess.objects.filter(pk__in=choice.ids)
    if choice.kind == BulkKind.RESUBMIT:
        found = found.filter(process_state=ProcessState.ERROR)
    there = set(found.values_list("pk", flat=True))
    return [one for one in choice.ids if one in there]


def _wanted(choice: Choice) -> OrderFilter | None:
    wanted = choice.wanted
    if wanted is None or choice.kind != BulkKind.RESUBMIT:
        return wanted
    if wanted.state not in ("", ProcessState.ERROR):
        return replace(wanted, problems=("none of these orders is in Error",))  # which matches nothing
    return replace(wanted, state=ProcessState.ERROR.value)
