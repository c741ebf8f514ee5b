"""How often a step may fail, and how long it waits between its attempts. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from orders.engine.contracts import Step
from orders.engine.runtime.backoff import full_jitter


@dataclass(frozen=True, kw_only=True)
class RetryRules:
    """The supervisor's rules for retries. Times are in seconds.

    A step that has failed `threshold` times takes its remedy. A compensation may fail `compensation_patience` times as
    often, because giving it up leaves an effect in place that an operator has to reverse by hand.
    """

    threshold: int = 3
    compensation_patience: int = 2
    first_backoff: float = 2.0
    backoff_cap: float = 60.0

    def backoff(self, step: Step) -> Callable[[int], float]:
        """How long this step waits after that many failures: its own backoff, or else the installation's."""
        first = self.first_backoff if step.first_backoff is None else step.first_backoff
        cap = self.backoff_cap if step.backoff_cap is None else step.backoff_cap
        return partial(full_jitter, first=first, cap=cap)

    @property
    def compensation_threshold(self) -> int:
        """The number of failures at which a compensation is given up."""
        return self.threshold * self.compensation_patience
