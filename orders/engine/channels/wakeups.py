"""Wake-ups: roles wait for messages, web processes for progress. A wake-up is only a hint, since all of them poll."""

from enum import StrEnum

from orders.engine.runtime.statements import send


class Topic(StrEnum):
    """Who wakes up: a role, to read its queue; for `PROGRESS` the web, to read the orders that are being watched.

    Each topic is a channel of PostgreSQL, so nobody is told of what concerns others.
    """

    SUBMISSION = "submission"
    SCHEDULER = "scheduler"
    AGENTS = "agents"
    PROGRESS = "progress"

    @property
    def channel(self) -> str:
        """Its channel in the database."""
        return f"sasweb_{self.value}"


def wake(*topics: Topic) -> None:
    """Wakes whoever waits for these topics, when this transaction commits. One statement for all topics.

    Call it once per pass, never per row: at commit, a NOTIFY takes a lock on the whole database.
    """
    if topics:
        send(
            "SELECT pg_notify(channel, '') FROM unnest(%s::text[]) AS channel",
            [[topic.channel for topic in topics]],
        )
