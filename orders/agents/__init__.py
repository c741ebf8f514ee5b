"""What the author of an agent needs, from one place: transports, messages and faults.

    from orders.agents import CALL_TIMEOUT, Json, Remote, Request, unknown_operation

`Remote` calls a service over HTTP, `SmtpRemote` sends emails. An agent takes a `Request`, returns a result (`Json`) and
raises a fault; the protocols that it follows are `Agent`, `InquiringAgent` and `ListingAgent` in
`orders.engine.contracts`, and `RehearsingAgent` in `orders.engine.rehearsals`. `orders.testing` proves that it does.
"""

from orders.agents.answers import decline_if
from orders.agents.listing import list_effects
from orders.agents.rehearsing import rehearse
from orders.agents.smtp import SmtpRemote
from orders.agents.transport import CALL_TIMEOUT, Remote, unknown_operation
from orders.engine.contracts import (
    Agent,
    Done,
    Effect,
    EffectPage,
    Finding,
    Json,
    NotDone,
    Pending,
    Request,
    Unknown,
)
from orders.engine.errors import Declined, Refused, Transient, Unresolved
from orders.engine.rehearsals import Outgoing, Rehearsal

__all__ = [
    "CALL_TIMEOUT",
    "Agent",
    "Declined",
    "Done",
    "Effect",
    "EffectPage",
    "Finding",
    "Json",
    "NotDone",
    "Outgoing",
    "Pending",
    "Refused",
    "Rehearsal",
    "Remote",
    "Request",
    "SmtpRemote",
    "Transient",
    "Unknown",
    "Unresolved",
    "decline_if",
    "list_effects",
    "rehearse",
    "unknown_operation",
]
