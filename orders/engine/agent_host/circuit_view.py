"""What one host knows of an agent's circuit, and what it has to report to it. Belongs to the host's event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime

from orders.engine.circuits.rules import CircuitRow, Tally, lets_calls_through, state_of
from orders.engine.errors import Fault
from orders.vocabulary import CircuitState


class RetryQueue:
    """Retries out of the global budget (I8): whoever wants to try again asks for one, and waits until it is granted."""

    def __init__(self, on_want: Callable[[], None]) -> None:
        self._on_want = on_want
        self._asking: deque[asyncio.Future[None]] = deque()

    async def take(self, *, within: float) -> bool:
        """Waits for a retry; False when none is granted in that many seconds."""
        asked = asyncio.get_running_loop().create_future()
        self._asking.append(asked)
        self._on_want()
        try:
            await asyncio.wait_for(asked, within)
        except TimeoutError:
            return False
        return True

    def wanted(self) -> int:
        """How many wait for a retry."""
        self._asking = deque(asked for asked in self._asking if not asked.done())
        return len(self._asking)

    def grant(self, number: int) -> None:
        """Lets that many try again, those first who asked first."""
        while number > 0 and self._asking:
            asked = self._asking.popleft()
            if not asked.done():
                asked.set_result(None)
                number -= 1


class CircuitView:
    """The calls to one agent. `is_clear`: they may be made; otherwise nothing but a probe, where one is asked for."""

    def __init__(
        self, agent: str, *, retry_queue: RetryQueue | None = None, on_news: Callable[[], None] | None = None
    ) -> None:
        self.agent = agent
        self.is_clear = True
        self.cause = ""
        self._retry_queue = retry_queue
        self._on_news = on_news
        self._tally = Tally()
        self._half_open_since: datetime | None = None
        self._probed: datetime | None = None

    def follow(self, circuit: CircuitRow, now: datetime) -> None:
        """Notes the circuit as it is. A period of half-open allows one probe."""
        self.is_clear = lets_calls_through(circuit, now)
        self.cause = "the agent is paused" if circuit.paused else circuit.cause_message
        is_half_open = state_of(circuit, now) == CircuitState.HALF_OPEN and not circuit.paused
        self._half_open_since = circuit.since if is_half_open else None

    def admits(self) -> bool:
        """Whether a call may begin; the one that is let through while it is not clear is the probe."""
        if self.is_clear:
            return True
        if self._half_open_since is not None and self._half_open_since != self._probed:
            self._probed = self._half_open_since
            return True
        return False

    def count(self, *, failed: bool, is_retry: bool, fault: Fault | None = None) -> None:
        """Counts a try for the next report, which is made at once when it may change something."""
        tally = self._tally
        self._tally = Tally(
            tally.calls + 1,
            tally.failures + failed,
            tally.retries + is_retry,
            fault.code if fault else tally.code,
            fault.message if fault else tally.message,
        )
        if (failed or not self.is_clear) and self._on_news is not None:
            self._on_news()

    def take(self) -> Tally:
        """What is to be reported; it counts as reported."""
        tally, self._tally = self._tally, Tally()
        return tally

    def put_back(self, tally: Tally) -> None:
        """Keeps for the next report what could not be reported."""
        mine = self._tally
        self._tally = Tally(
            mine.calls + tally.calls,
            mine.failures + tally.failures,
            mine.retries + tally.retries,
            mine.code or tally.code,
            mine.message or tally.message,
        )

    async def retry(self, *, within: float) -> bool:
        """Waits for leave to try again, out of the global budget; False when none comes in that many seconds."""
        return within > 0 and (self._retry_queue is None or await self._retry_queue.take(within=within))
