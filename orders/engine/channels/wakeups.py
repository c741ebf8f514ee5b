"""Waking who waits: a role for messages, a web process for progress. Only a hint: all of them also poll."""

from enum import StrEnum

from orders.engine.runtime.sql import run

PG_CHANNEL = "sasweb"


class Topic(StrEnum):
    """Who is to look: a role at its queue; at `PROGRESS`, the web at the orders that somebody is watching."""

    SUBMISSION = "submission"
    SCHEDULER = "scheduler"
    AGENTS = "agents"
    PROGRESS = "progress"


def wake(*topics: Topic) -> None:
    """Wakes those who wait for these topics when this transaction commits. One statement, however many.

    Once per pass, never per row: a NOTIFY takes a lock across the database at commit.
    """
    if topics:
        run(
            "SELECT pg_notify(%s, topic) FROM unnest(%s::text[]) AS topic",
            [PG_CHANNEL, [topic.value for topic in topics]],
        )
