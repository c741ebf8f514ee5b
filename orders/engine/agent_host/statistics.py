"""How an agent's calls go in one host. Used only in the host's event loop."""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from orders.engine.agent_host.tallies import Calls, Histogram
from orders.vocabulary import CallOutcome

MOST_RECENT = 2_000
"""The most tries of the last minute that are kept: a sample large enough for the 95th percentile."""


class CallFigures(NamedTuple):
    """The figures at one moment. `calls` and `failed_calls` count since the host started, `recent_*` the last minute.

    `mean_seconds` is a moving average of about ten calls; `p95_seconds` is the 95th percentile of the last minute.
    """

    calls: int = 0
    failed_calls: int = 0
    mean_seconds: float | None = None
    recent_calls: int = 0
    recent_failures: int = 0
    p95_seconds: float | None = None


@dataclass
class CallStats:
    """Counts an agent's calls since its host started. `unreported` are those that no heartbeat has reported yet."""

    calls: int = 0
    failed_calls: int = 0
    mean_seconds: float | None = None
    recent: deque[tuple[float, float, bool]] = field(
        default_factory=lambda: deque(maxlen=MOST_RECENT), compare=False
    )
    unreported: dict[CallOutcome, Histogram] = field(default_factory=dict, compare=False)

    def record(self, *, seconds: float, outcome: CallOutcome) -> None:
        """Counts one try."""
        failed = outcome not in (CallOutcome.OK, CallOutcome.DECLINED)
        self.calls += 1
        self.failed_calls += failed
        self.mean_seconds = seconds if self.mean_seconds is None else 0.9 * self.mean_seconds + 0.1 * seconds
        self.recent.append((time.monotonic(), seconds, failed))
        histogram = self.unreported.get(outcome)
        if histogram is None:
            histogram = self.unreported[outcome] = Histogram()
        histogram.add(seconds)

    def take_unreported(self) -> Calls:
        """The calls since the last time, which the caller reports, or puts back."""
        taken, self.unreported = self.unreported, {}
        return taken

    def put_back(self, calls: Calls) -> None:
        """Takes back calls that could not be reported."""
        for outcome, histogram in calls.items():
            self.unreported[outcome] = histogram.plus(self.unreported.get(outcome, Histogram()))

    def figures(self) -> CallFigures:
        """The figures as of now, which another thread may read."""
        since = time.monotonic() - 60.0
        while self.recent and self.recent[0][0] < since:
            self.recent.popleft()
        took = sorted(seconds for _, seconds, _ in self.recent)
        failed = sum(has_failed for _, _, has_failed in self.recent)
        p95 = took[int(0.95 * (len(took) - 1))] if took else None
        return CallFigures(self.calls, self.failed_calls, self.mean_seconds, len(took), failed, p95)
