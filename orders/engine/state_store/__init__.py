"""The state store: the one door to the rows of processes, steps and events (T1–T6).

Every function runs inside the caller's transaction. Whoever writes a step has locked its process row first, by
`lock` or `claim`; those never wait, so that nobody can deadlock and a stuck process holds up no order but its own.
"""

from orders.engine.state_store.claims import (
    are_known,
    claim,
    claim_probes,
    claim_waiting,
    lock,
    lock_one,
    overdue,
    steps_of,
    unannounced,
)
from orders.engine.state_store.writes import (
    create_processes,
    edit_request,
    last_call_failures,
    record_events,
    stop_waiting,
    write_processes,
    write_steps,
)

__all__ = [
    "are_known",
    "claim",
    "claim_probes",
    "claim_waiting",
    "create_processes",
    "edit_request",
    "last_call_failures",
    "lock",
    "lock_one",
    "overdue",
    "record_events",
    "steps_of",
    "stop_waiting",
    "unannounced",
    "write_processes",
    "write_steps",
]
