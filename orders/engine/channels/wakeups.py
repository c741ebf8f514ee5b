"""Waking a role that waits for messages. Only a hint: every role also polls."""

from enum import StrEnum

from orders.engine.sql import run

PG_CHANNEL = "sasweb"


class Topic(StrEnum):
    """Who is to look at its queue."""

    SUBMISSION = "submission"
    SCHEDULER = "scheduler"
    AGENTS = "agents"


def wake(topic: Topic) -> None:
    """Wakes the waiting instances of a role when this transaction commits.

    Once per pass, never per row: a NOTIFY takes a lock across the database at commit.
    """
    run("SELECT pg_notify(%s, %s)", [PG_CHANNEL, topic.value])
