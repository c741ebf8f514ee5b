"""How often a step may fail, and how long it waits between its attempts. Pure."""

from dataclasses import dataclass


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

    @property
    def compensation_threshold(self) -> int:
        """The number of failures at which a compensation is given up."""
        return self.threshold * self.compensation_patience
