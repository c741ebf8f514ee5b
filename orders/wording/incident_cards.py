"""What an incident looks like in words: a card with links, for the overview and the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.selectors.desk.incidents import NO_RISK, AtRisk, IncidentKind

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
