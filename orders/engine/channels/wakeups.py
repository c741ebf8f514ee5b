"""Wake-ups: roles wait for messages, web processes for progress. A wake-up is only a hint, since all of them poll."""

from enum import StrEnum

from orders.engine.runtime.sql import run

PG_CHANNEL = "sasweb"


class Topic(StrEnum):
    """Who wakes up: a role, to read its queue; for `PROGRESS` the web, to read the orders that are being watched."""

    SUBMISSION = "submission"
    SCHEDULER = "scheduler"
    AGENTS = "agents"
    PROGRESS = "progress"


def wake(*topics: Topic) -> None:
    """Wakes whoever waits for these topics, when this transaction commits. One statement for all topics.

    Call it once per pass, never per row: at commit, a NOTIFY takes a lock on the whole database.
    """
    if topics:
        run(
            "SELECT pg_notify(%s, topic) FROM unnest(%s::text[]) AS topic",
            [PG_CHANNEL, [topic.value for topic in topics]],
        )
