"""How a scheduler is set up."""

from dataclasses import dataclass, field

from orders.engine.circuits.rules import BreakerRules


@dataclass(frozen=True, kw_only=True)
class SchedulerConfig:
    """`instance` is this scheduler's id, as shown in LockedBy (T2). `retries` is the global budget, a second (I8).

    `batch` is the most orders in one pass: enough for many orders to share a commit, few enough for a pass to end well
    within the 5 s that a transaction may last.
    """

    instance: str
    batch: int = 200
    retries: float = 100.0
    breaker: BreakerRules = field(default_factory=BreakerRules)
