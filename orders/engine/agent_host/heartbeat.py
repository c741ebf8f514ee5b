"""What hosts report about their agents (A9)."""

from orders.engine.agent_host.statistics import CallFigures
from orders.engine.runtime.sql import run


def beat(*, instance: str, agent: str, capacity: int, in_flight: int, figures: CallFigures) -> None:
    """Records how one agent in one process is doing."""
    run(
        """
        INSERT INTO orders_agentinstance (instance, agent, capacity, in_flight, calls, failed_calls, mean_seconds,
                                          recent_calls, recent_failures, p95_seconds)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
            ON CONFLICT (instance, agent) DO UPDATE
           SET capacity = excluded.capacity,
               in_flight = excluded.in_flight,
               calls = excluded.calls,
               failed_calls = excluded.failed_calls,
               mean_seconds = excluded.mean_seconds,
               recent_calls = excluded.recent_calls,
               recent_failures = excluded.recent_failures,
               p95_seconds = excluded.p95_seconds,
               seen_at = clock_timestamp()
        """,
        [
            *(instance, agent, capacity, in_flight),
            *figures,
        ],
    )


def forget(instance: str) -> None:
    """Deletes the rows of a process that stops, and of those without a heartbeat for ten minutes.

    Until then a dead process stays on the list, so that operators see what is missing.
    """
    run(
        """
        DELETE FROM orders_agentinstance
         WHERE id IN (
                   SELECT id
                     FROM orders_agentinstance
                    WHERE instance = %s OR seen_at < clock_timestamp() - interval '10 minutes'
                    ORDER BY agent, instance
                      FOR UPDATE
               )
        """,
        [instance],
    )
