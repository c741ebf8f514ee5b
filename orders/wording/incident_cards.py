"""What an incident looks like in words: a card with links, for the overview and the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.fields.money import Money
from orders.selectors.desk.incidents import NO_RISK, AtRisk, IncidentKind
from orders.wording.units import ENGLISH, counted, money, number

PLACES = (
    "supervisor",
    "agents",
    "alerts",
    "group",
    "bulk-new",
    "compensation",
    "decisions",
    "deadlines",
    "set-aside",
    "orders",
    "pauses",
)
"""The console's pages that a card leads to."""


@dataclass(frozen=True, kw_only=True)
class CardLink:
    """What an operator can do. `page` is one of `PLACES`, and `place` the end of its url. `group` is an alert group."""

    label: str
    page: str
    place: str = ""
    group: int | None = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """An incident in words. `tone` is bad or warn; `why`, `impact` and `by_itself` may be empty."""

    kind: IncidentKind
    tone: str
    title: str
    since: datetime | None
    why: str
    impact: str
    by_itself: str
    links: Sequence[CardLink]
    at_risk: AtRisk = NO_RISK


def impact_in_words(risk: AtRisk) -> str:
    """What is at risk: "€1,560.00 is at stake. 1 order is late; 8 are due by 13:23 UTC."; empty if nothing is."""
    more = " or more" if risk.more else ""
    sums = [
        money(Money(amount=amount, currency=currency), locale=ENGLISH) + more
        for currency, amount in sorted(risk.money.items())
    ]
    sentences = []
    if sums:
        enumeration = ", ".join(sums[:-1]) + (" and " if sums[:-1] else "") + sums[-1]
        sentences.append(f"{enumeration} {'is' if len(sums) == 1 else 'are'} at stake.")
    if risk.promises:
        sentences.append(_promises(risk))
    return " ".join(sentences)


def _promises(risk: AtRisk) -> str:
    """How many promises are broken, and how many soon will be."""
    soon = risk.promises - risk.late
    if not risk.late:
        none = "" if risk.more or soon == 1 else "; none is late yet"
        return f"{_orders_are(soon, more=risk.more)} {_due(risk)}{none}."
    late = f"{_orders_are(risk.late, more=risk.more)} late"
    if not soon:
        return f"{late}."
    return f"{late}; {number(soon)} {'is' if soon == 1 else 'are'} {_due(risk)}."


def _due(risk: AtRisk) -> str:
    """When the promises that are not broken yet are due: "due by 13:23 UTC, the first by 13:10"."""
    if risk.first_due is None or risk.last_due is None:
        return "due within the hour"
    first, last = f"{risk.first_due:%H:%M}", f"{risk.last_due:%H:%M}"
    return f"due by {last} UTC{f', the first by {first}' if first != last else ''}"


def _orders_are(count: int, *, more: bool) -> str:
    """So many orders, with the verb: "1 order is", "1 or more orders are"."""
    orders = f"{number(count)} or more orders" if more else counted(count, "order")
    return f"{orders} {'is' if count == 1 and not more else 'are'}"
