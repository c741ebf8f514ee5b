"""What one host knows about an agent's circuit, and what it has to report to the circuit. Used only in the host's
event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from orders.engine.circuits.rules import CircuitRow, Tally, lets_calls_through, state_of
from orders.engine.errors import Fault
from orders.vocabulary import CircuitState


class RetryQueue:
    """The calls of this host that wait for a retry out of the global budget (I8), first come, first served."""

    def __init__(self, on_want: Callable[[], None]) -> None:
        self._on_want = on_want
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self, *, within: float) -> bool:
        """Waits for a retry; False if none is granted within that many seconds."""
        retry = asyncio.get_running_loop().create_future()
        self._waiting.append(retry)
        self._on_want()
        try:
            await asyncio.wait_for(retry, within)
        except TimeoutError:
            return False
        return True

    def count_waiting(self) -> int:
        """How many calls wait for a retry."""
        self._waiting = deque(retry for retry in self._waiting if not retry.done())
        return len(self._waiting)

    def grant(self, number: int) -> None:
        """Lets that many calls try again, the longest waiting first."""
        while number > 0 and self._waiting:
            retry = self._waiting.popleft()
            if not retry.done():
                retry.set_result(None)
                number -= 1


class Quarantine(NamedTuple):
    """A host's quarantine at an agent (rule 9). `is_due`: at `probe_at`, which is past, it may make one call."""

    since: datetime
    probe_at: datetime
    is_due: bool


class CircuitView:
    """An agent's circuit as its host sees it. Unless it `is_clear`, no call is made but a probe that is due."""

    def __init__(
        self, agent: str, *, retry_queue: RetryQueue | None = None, on_news: Callable[[], None] | None = None
    ) -> None:
        self.agent = agent
        self.is_clear = True
        self.cause = ""
        self._retry_queue = retry_queue
        self._on_news = on_news
        self._tally = Tally()
        self._succeeded_at: datetime | None = None
        self._half_open_since: datetime | None = None
        self._quarantine: Quarantine | None = None
        self._quarantine_probe: datetime | None = None
        self._probed: datetime | None = None

    def follow(self, circuit: CircuitRow, now: datetime) -> None:
        """Takes over the state of the circuit. Each half-open period allows one probe."""
        self.is_clear = lets_calls_through(circuit, now)
        self.cause = "the agent is paused" if circuit.paused else circuit.cause_message
        self._succeeded_at = circuit.succeeded_at
        is_half_open = state_of(circuit, now) == CircuitState.HALF_OPEN and not circuit.paused
        self._half_open_since = circuit.since if is_half_open else None

    def follow_quarantine(self, quarantine: Quarantine | None) -> None:
        """Takes over whether this host is in quarantine. Each `probe_at` allows one call."""
        self._quarantine = quarantine

    @property
    def is_quarantined(self) -> bool:
        """Whether this host is to leave requests to the others."""
        return self._quarantine is not None

    @property
    def is_usable(self) -> bool:
        """Whether this host may try again."""
        return self.is_clear and not self.is_quarantined

    @property
    def is_alone_in_failing(self) -> bool:
        """Whether other hosts' calls have succeeded since this host is in quarantine."""
        succeeded_at = self._succeeded_at
        return (
            self._quarantine is not None
            and succeeded_at is not None
            and succeeded_at > self._quarantine.since
        )

    def room(self, free: int) -> int:
        """How many requests may be claimed where so many calls are free: in quarantine one, when a call is due."""
        if self._quarantine is None:
            return free
        return min(free, int(self._quarantine.is_due and self._quarantine.probe_at != self._quarantine_probe))

    def admits_to_quarantine(self) -> bool:
        """Whether a call may begin although this host is in quarantine. Always true if it is not."""
        if self._quarantine is None:
            return True
        admitted = self.room(1) == 1
        self._quarantine_probe = self._quarantine.probe_at
        return admitted

    def admits(self) -> bool:
        """Whether a call may begin. One that is admitted while the circuit is not clear is the probe."""
        if self.is_clear:
            return True
        if self._half_open_since is not None and self._half_open_since != self._probed:
            self._probed = self._half_open_since
            return True
        return False

    def count(
        self,
        *,
        failed: bool,
        is_retry: bool,
        fault: Fault | None = None,
        order_id: str = "",
        is_probe: bool = False,
    ) -> None:
        """Counts a try for the next report, which is made at once if it may change the circuit."""
        probe = ("failed" if failed else "done") if is_probe else ""
        orders = frozenset([order_id] if failed else [])
        code, message = (fault.code, fault.message) if fault else ("", "")
        self._tally = Tally(1, int(failed), int(is_retry), code, message, orders, probe).plus(self._tally)
        if (failed or not self.is_usable) and self._on_news is not None:
            self._on_news()

    def take(self) -> Tally:
        """Returns what has been counted since the last report, and starts counting again."""
        tally, self._tally = self._tally, Tally()
        return tally

    def put_back(self, tally: Tally) -> None:
        """Adds what could not be reported to the next report."""
        self._tally = self._tally.plus(tally)

    async def retry(self, *, within: float) -> bool:
        """Waits for a retry out of the global budget; False if none is granted within that many seconds."""
        return within > 0 and (self._retry_queue is None or await self._retry_queue.take(within=within))
