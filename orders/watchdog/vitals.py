"""What the database says of the other roles, the queues and the outbox."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from orders.engine.role_health import Trouble
from orders.engine.runtime.sql import fetch
from orders.vocabulary import ActorKind, AlertKind

LIMIT = 30.0
"""Seconds without a sign of life, or of waiting, after which operators are told. A killed leader is replaced in about
12 s, and a restarted role in a few."""
OUTBOX = "outbox"
"""The subject of troubles with delivering alerts."""
RETENTION = "retention"
"""The subject of troubles with moving and deleting what is old, and with erasing customers."""


class Vitals(NamedTuple):
    """Ages in seconds, by the database's clock; None where there is nothing.

    `sweep` is the last sweep's; `seen` is, for each role, that of its last heartbeat, and `waiting` that of the oldest
    thing that waits for it, if it has not been seen for `LIMIT` seconds. `late` alerts have been due for delivery for
    `LIMIT` seconds and nobody has tried; `undelivered` ones could not be delivered.
    """

    sweep: float | None
    waiting: Mapping[str, float | None]
    seen: Mapping[str, float | None]
    late: int
    undelivered: int
    failing: Sequence[tuple[str, str]] = ()
    """The parts of the periodic jobs that failed when they last ran, each with its error."""


_VITALS = """
    WITH seen AS MATERIALIZED (
        SELECT (SELECT max(seen_at) FROM orders_roleinstance WHERE role = 'submission') AS submission,
               (SELECT max(seen_at) FROM orders_roleinstance WHERE role = 'scheduler') AS scheduler,
               (SELECT max(seen_at) FROM orders_agentinstance) AS agents,
               clock_timestamp() - %(limit)s * interval '1 second' AS late
    ), moments AS (
        SELECT (SELECT swept_at FROM orders_leaderlease WHERE name = 'supervisor') AS sweep,
               CASE WHEN submission > late THEN NULL
                    ELSE (SELECT posted_at FROM orders_submissionmessage ORDER BY id LIMIT 1)
                END AS message,
               CASE WHEN scheduler > late THEN NULL
                    ELSE (SELECT posted_at FROM orders_agentreply ORDER BY id LIMIT 1)
                END AS reply,
               CASE WHEN scheduler > late THEN NULL
                    ELSE (SELECT created_at
                            FROM orders_orderprocess
                           WHERE process_state = 'pending' AND not_before IS NULL
                           ORDER BY priority DESC, created_at
                           LIMIT 1)
                END AS new_order,
               CASE WHEN agents > late THEN NULL
                    ELSE (SELECT posted_at FROM orders_agentrequest ORDER BY id LIMIT 1)
                END AS request,
               submission, scheduler, agents
          FROM seen
    )
    SELECT extract(epoch FROM clock_timestamp() - sweep)::float8,
           extract(epoch FROM clock_timestamp() - message)::float8,
           extract(epoch FROM clock_timestamp() - least(reply, new_order))::float8,
           extract(epoch FROM clock_timestamp() - request)::float8,
           extract(epoch FROM clock_timestamp() - submission)::float8,
           extract(epoch FROM clock_timestamp() - scheduler)::float8,
           extract(epoch FROM clock_timestamp() - agents)::float8,
           (SELECT count(*)::int
              FROM orders_outgoingmessage
             WHERE priority = 0 AND due_at < clock_timestamp() - %(limit)s * interval '1 second'),
           (SELECT count(*)::int
              FROM orders_outgoingmessage
             WHERE priority = 0 AND due_at IS NOT NULL AND error <> ''
               AND created_at < clock_timestamp() - %(limit)s * interval '1 second')
      FROM moments
"""


def read_vitals() -> Vitals:
    """Reads the vitals, in two statements that touch a few rows of each queue.

    Queues of roles that report are not read: while somebody holds a snapshot, that would meet all that was deleted.
    """
    (row,) = fetch(
        _VITALS,
        {"limit": LIMIT},
    )
    sweep, submissions, orders, requests, submission, scheduler, agents, late, undelivered = row
    return Vitals(
        sweep=sweep,
        waiting={
            ActorKind.SUBMISSION: submissions,
            ActorKind.SCHEDULER: orders,
            ActorKind.AGENTS: requests,
        },
        seen={
            ActorKind.SUBMISSION: submission,
            ActorKind.SCHEDULER: scheduler,
            ActorKind.AGENTS: agents,
        },
        late=late,
        undelivered=undelivered,
        failing=fetch("SELECT part, error FROM orders_retentionfailure ORDER BY since, part"),
    )


def find_troubles(vitals: Vitals) -> list[Trouble]:
    """What is wrong, for operators. Pure."""
    troubles = []
    if vitals.sweep is not None and vitals.sweep > LIMIT:
        troubles.append(
            Trouble(
                AlertKind.STALLED,
                ActorKind.SUPERVISOR.value,
                "no_sweep",
                f"no supervisor has swept for more than {LIMIT:.0f} s, so nothing overdue is found: "
                "the jobs process is not running, or hangs",
            )
        )
    for role, age in vitals.waiting.items():
        seen = vitals.seen[role]
        if age is not None and age > LIMIT and (seen is None or seen > LIMIT):
            message = f"no process of the role {role} has reported for more than {LIMIT:.0f} s, and work waits for it"
            troubles.append(Trouble(AlertKind.STALLED, str(role), "no_process", message))
    if vitals.undelivered:
        message = (
            f"alerts have not been delivered for more than {LIMIT:.0f} s; the outbox in the console shows why"
        )
        troubles.append(Trouble(AlertKind.STALLED, OUTBOX, "undelivered", message))
    if vitals.failing:
        part, error = vitals.failing[0]
        others = len(vitals.failing) - 1
        message = (
            f"retention fails at {part}{f' and at {others} more' if others else ''}, and goes on with the rest; "
            f"it tries again, and nothing is lost: {error}"
        )
        troubles.append(Trouble(AlertKind.STALLED, RETENTION, "part_failed", message))
    return troubles
