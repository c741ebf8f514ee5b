"""Finds orders whose workflow no running scheduler has: a version was taken away, or no scheduler runs (rule 10)."""

import time
from collections.abc import Callable

from orders.engine import alerts
from orders.engine.contracts import title_of
from orders.engine.role_health import Trouble
from orders.engine.runtime.sparing import Sparing
from orders.engine.state_store import definitions
from orders.vocabulary import ActorKind, AlertKind

PERIOD = 10.0
SHARE = 100
"""Seconds between two looks, and the part of the supervisor's time that they may take: a look meets every order that is
under way, and while somebody holds a snapshot every one that has been."""
PATIENCE = 60.0
"""Seconds before operators are told. A deployment may take that long. A new leader goes on with the open alerts."""
CODE = "workflow_missing"


class VersionWatch:
    """What the leading supervisor knows about orders that nobody moves on."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.troubles: list[Trouble] = []
        self._clock = clock
        self._sparing = Sparing(share=SHARE, period=PERIOD, clock=clock)
        self._since: dict[str, float] = {}

    def look(self) -> None:
        """Looks for such orders, if it is time to. Raises database errors."""
        if not self._sparing.is_due():
            return
        now = self._clock()
        with self._sparing.look():
            stranded = definitions.stranded_orders(roles=[ActorKind.SCHEDULER.value])
        titles = {title_of(orders.key): orders for orders in stranded}
        self._since = {title: self._since.get(title, now) for title in titles}
        reported = alerts.open_subjects(AlertKind.RELEASE, code=CODE) if titles else ()
        self.troubles = [
            Trouble(
                AlertKind.RELEASE,
                title,
                CODE,
                f"no running scheduler has {title} as its orders started with it. Run a release that has it, and they "
                f"continue. Orders waiting: {orders.number}, {orders.example} among them",
            )
            for title, orders in titles.items()
            if now - self._since[title] >= PATIENCE or title in reported
        ]
