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
    """What is at risk: "€1,560.00 is at stake. 3 orders are late, or due within the hour."; empty if nothing is."""
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
        verb = "is" if risk.promises == 1 and not risk.more else "are"
        orders = f"{number(risk.promises)} or more orders" if risk.more else counted(risk.promises, "order")
        sentences.append(f"{orders} {verb} late, or due within the hour.")
    return " ".join(sentences)
