"""What can go wrong, as one tree.

    SaswebError
    ├── WorkflowError          a workflow that is not well declared
    ├── Fault                  what an agent raises when a remote call does not succeed
    │   ├── Transient          may pass: the host tries again inside the complete-by time
    │   ├── Refused            a definite, nontransient no: nothing was done, and trying again will not help
    │   │   └── Declined       a refusal that the customer can fix (a declined card)
    │   └── Unresolved         nontransient, and nobody knows whether it was done
    ├── StateConflict          a locked row was not as it had been read
    └── LeadershipLost         a leader found that another one has taken its place

The rule which HTTP answers and exceptions are which is `orders.agents.transport.classify`.
"""


class SaswebError(Exception):
    """The root of every error that this project raises."""


class WorkflowError(SaswebError):
    """Raised when a workflow is declared with steps that cannot be run."""


class Fault(SaswebError):
    """Raised by an agent when its remote call did not succeed. `code` is a short, stable name for the cause."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Transient(Fault):
    """Raised when the fault may pass by itself. `retry_after` is how long the remote asks us to wait, in seconds."""

    def __init__(self, code: str, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(code, message)
        self.retry_after = retry_after


class Refused(Fault):
    """Raised when the remote service definitely refused: it did nothing, and the same call will be refused again."""


class Declined(Refused):
    """Raised when the remote service refused for a reason that the customer can fix."""


class Unresolved(Fault):
    """Raised when trying again will not help and it is unknown whether the remote service did it."""


class LeadershipLost(SaswebError):
    """Raised when a write found a newer term than its own (I6)."""


class StateConflict(SaswebError):
    """Raised when a row changed under its lock: somebody writes steps without locking their process."""
