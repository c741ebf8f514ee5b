"""The errors, as one tree.

    SaswebError
    ├── WorkflowError          a workflow is declared with steps that cannot be run
    ├── Fault                  an agent's remote call did not succeed
    │   ├── Transient          it may pass: the host retries within the complete-by time
    │   ├── Refused            a definite, nontransient no: nothing was done, and a retry will not help
    │   │   └── Declined       a refusal that the customer can fix, such as a declined card
    │   └── Unresolved         nontransient, and it is unknown whether the effect happened
    ├── StateConflict          a locked row has changed since it was read
    └── LeadershipLost         a leader has been replaced by another instance

`orders.agents.answers.classify` maps HTTP answers and exceptions to faults.
"""

from collections.abc import Mapping
from typing import Any


class SaswebError(Exception):
    """The root of every error that this project raises."""


class WorkflowError(SaswebError):
    """Raised when a workflow is declared with steps that cannot be run."""


class Fault(SaswebError):
    """Raised by an agent when its remote call did not succeed. `code` is a short, stable name for the cause.

    `exchange` is what was sent and answered, as far as operators should see it: JSON without secrets, or None.
    """

    exchange: Mapping[str, Any] | None = None

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Transient(Fault):
    """Raised when the fault may pass. `retry_after` is how long the remote service asks us to wait, in seconds.

    `is_over` says that the call can have no effect from now on: it never reached the service, or the service has
    answered it. Otherwise the service may still be working on it.
    """

    def __init__(
        self, code: str, message: str, *, retry_after: float | None = None, is_over: bool = False
    ) -> None:
        super().__init__(code, message)
        self.retry_after = retry_after
        self.is_over = is_over


class Refused(Fault):
    """Raised when the remote service definitely refused. It did nothing, and will refuse the same call again.

    `detail` is what it says beside its message, such as how much is left: a small JSON object, or None.
    """

    def __init__(self, code: str, message: str, *, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__(code, message)
        self.detail = detail


class Declined(Refused):
    """Raised when the remote service refused for a reason that the customer can fix. She may see `detail`."""


class Unresolved(Fault):
    """Raised when a retry will not help and it is unknown whether the effect happened."""


class LeadershipLost(SaswebError):
    """Raised when a leader's term is over (I6)."""


class StateConflict(SaswebError):
    """Raised when a row has changed under its lock, because something writes steps without locking their process."""
