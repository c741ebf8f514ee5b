"""Orders that will be late, of which operators are told before they are."""

import time
from collections.abc import Callable

from orders.engine.role_health import Trouble
from orders.engine.runtime.sparing import Sparing
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import agent_statuses
from orders.selectors.desk.outlook import outlooks
from orders.selectors.desk.pauses import held_by_paused_steps
from orders.vocabulary import AlertKind

PERIOD = 20.0
"""Seconds between two looks."""
CALM = 120.0
"""Seconds without a coming miss after which the trouble is over, since the pace of a minute goes up and down. It is
over at once when nothing waits any more, unless a pause of a step holds what waited."""
SHARE = 100
"""The part of one process's time that the looks may take."""


class DeadlineWatch:
    """What one web process knows of the agents for which orders wait for too long."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sparing = Sparing(share=SHARE, period=PERIOD, clock=clock)
        self._late: dict[str, float] = {}
        """When the orders of each agent were last seen to be late soon."""

    def look(self) -> list[Trouble]:
        """Looks, if it is time to; returns the agents whose orders will be late, and those of which that was so lately.
        Raises database errors."""
        if self._sparing.is_due():
            with self._sparing.look():
                at = now()
                seen = outlooks(agent_statuses(now=at), now=at)
            moment = self._clock()
            self._late |= {outlook.agent: moment for outlook in seen if not outlook.is_good}
            waited_for = {outlook.agent for outlook in seen}
            held = held_by_paused_steps(self._late.keys() - waited_for)
            self._late |= dict.fromkeys(held, moment)
            self._late = {
                agent: last
                for agent, last in self._late.items()
                if agent in waited_for | held and moment - last < CALM
            }
        return [_trouble(agent) for agent in self._late]

    def forget(self) -> None:
        """Starts anew: nothing is done in time while the database does not answer."""
        self._late = {}


def _trouble(agent: str) -> Trouble:
    """The same words while it lasts, whatever the pace: the page says how many and when."""
    message = f"orders waiting for {agent} will be late at its current pace"
    return Trouble(AlertKind.LATE, agent, "deadlines", message)
