"""The state store: the one door to the rows of processes, steps and events (T1–T6).

Every function runs inside the caller's transaction. Whoever writes a step has first locked its process row, with one of
the `lock` or `claim` functions. A role never waits for such a lock, so nobody deadlocks, and a stuck process holds up
only the orders it has locked.
"""

from orders.engine.state_store.aged_claims import claim_aged, claim_aged_waiting
from orders.engine.state_store.branches import add_items, facts_of
from orders.engine.state_store.claims import (
    any_supported,
    claim,
    claim_probes,
    claim_waiting,
    lock,
    lock_one,
    send_claim,
    send_lock,
    unannounced,
)
from orders.engine.state_store.edits import NewRequest, requests_of, reverse_first, rewrite_requests
from orders.engine.state_store.events import last_call_failures, record_events
from orders.engine.state_store.pauses import paused_steps, release_held, send_paused_steps
from orders.engine.state_store.reads import (
    compensation_reasons,
    known_orders,
    overdue,
    request_of,
    send_last_sweep,
    send_steps_of,
    steps_of,
)
from orders.engine.state_store.writes import (
    create_closed,
    create_processes,
    edit_request,
    reporting_conflicts,
    send_step_writes,
    stop_waiting,
    write_processes,
    write_steps,
)

__all__ = [
    "NewRequest",
    "add_items",
    "any_supported",
    "claim",
    "claim_aged",
    "claim_aged_waiting",
    "claim_probes",
    "claim_waiting",
    "compensation_reasons",
    "create_closed",
    "create_processes",
    "edit_request",
    "facts_of",
    "known_orders",
    "last_call_failures",
    "lock",
    "lock_one",
    "overdue",
    "paused_steps",
    "record_events",
    "release_held",
    "reporting_conflicts",
    "request_of",
    "requests_of",
    "reverse_first",
    "rewrite_requests",
    "send_claim",
    "send_last_sweep",
    "send_lock",
    "send_paused_steps",
    "send_step_writes",
    "send_steps_of",
    "steps_of",
    "stop_waiting",
    "unannounced",
    "write_processes",
    "write_steps",
]
