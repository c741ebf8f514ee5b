"""Orders that will be late, of which operators are told before they are."""

import time
from collections.abc import Callable

from orders.engine.role_health import Trouble
from orders.engine.runtime.sparing import Sparing
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import agent_statuses
from orders.selectors.desk.outlook import Outlook, outlooks
from orders.vocabulary import AlertKind
from orders.wording.outlook import in_a_sentence

PERIOD = 20.0
"""Seconds between two looks."""
CALM = 120.0
"""Seconds without a coming miss after which the trouble is over: the pace of a minute goes up and down."""
SHARE = 100
"""The part of one process's time that the looks may take."""


class DeadlineWatch:
    """What one web process knows of the agents for which orders wait for too long."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sparing = Sparing(share=SHARE, period=PERIOD, clock=clock)
        self._seen: dict[str, tuple[float, Trouble]] = {}
        """For each agent when its orders were last seen to be late soon, and what was said of it first."""

    def look(self) -> list[Trouble]:
        """Looks, if it is time to; returns the agents whose orders will be late, and those of which that was so lately.
        Raises database errors."""
        if self._sparing.is_due():
            with self._sparing.look():
                at = now()
                late = [
                    outlook for outlook in outlooks(agent_statuses(now=at), now=at) if not outlook.is_good
                ]
            moment = self._clock()
            for outlook in late:
                _, trouble = self._seen.get(outlook.agent, (moment, _trouble(outlook)))
                self._seen[outlook.agent] = moment, trouble
            self._seen = {agent: seen for agent, seen in self._seen.items() if moment - seen[0] < CALM}
        return [trouble for _, trouble in self._seen.values()]

    def forget(self) -> None:
        """Starts anew: nothing is done in time while the database does not answer."""
        self._seen = {}


def _trouble(outlook: Outlook) -> Trouble:
    return Trouble(AlertKind.LATE, outlook.agent, "deadlines", in_a_sentence(outlook))
