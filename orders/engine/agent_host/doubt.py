"""Whether a request may have been carried out already, and what must be found out before it is sent (A7, P2)."""

from orders.engine.channels.leases import Lease
from orders.engine.contracts import NotDone, Unknown
from orders.engine.errors import Transient, Unresolved


class Undecided(Transient):
    """Raised when the remote service has answered an inquiry, and the request may not be sent yet.

    Since the service answers, this is no failure of it.
    """


class CannotAsk(Unresolved):
    """Raised when a request may not be sent, because its remote service cannot be asked about an earlier call."""


class Doubt:
    """What one delivery of a request knows about earlier calls for the same effect.

    While the remote service recognises the key, a repeated call is safe. Then it is asked once, if an earlier attempt
    or delivery may have had its effect, and the call follows whatever it says. A service that does not recognise the
    key is asked before every call but the first, and the call follows only if the effect did not happen and no longer
    can.
    """

    def __init__(self, lease: Lease, *, can_ask: bool) -> None:
        self.can_ask = can_ask
        """Whether the agent can ask at all."""
        self.is_safe = lease.key_is_known
        """Whether the service recognises the key, so that a repeated call does no harm."""
        self.has_called = False
        """Whether this delivery has sent the request."""
        # An earlier attempt has had its settle time. The call of an earlier delivery may be under way.
        self.may_be_under_way = lease.may_be_under_way
        """Whether an earlier call may still have its effect."""
        self._may_be_done = lease.is_repeat or lease.may_be_under_way

    @property
    def must_ask(self) -> bool:
        """Whether the service is to be asked before the request is sent. An agent that cannot ask may only repeat what
        is safe."""
        return self._may_be_done and (self.can_ask or not self.is_safe)

    def weigh(self, finding: NotDone | Unknown) -> None:
        """Takes the service's answer. Raises `Undecided` if the request may not be sent yet."""
        if self.is_safe:
            self._may_be_done = False
        elif isinstance(finding, Unknown):
            raise Undecided("outcome_unknown", f"it is unknown whether this was done: {finding.reason}")
        elif self.may_be_under_way:
            raise Undecided("still_possible", "this has not been done, but an earlier call may still do it")

    def note_call(self) -> None:
        """Notes that the request is being sent."""
        self.has_called = self.may_be_under_way = True
        if not self.is_safe:
            self._may_be_done = True

    def note_fault(self, fault: Transient) -> None:
        """Notes how that call failed."""
        if fault.is_over and not self.is_safe:  # a safe request may have been sent several times
            self.may_be_under_way = False
