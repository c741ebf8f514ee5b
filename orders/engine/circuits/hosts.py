"""The agent hosts as the circuits see them: what their heartbeats and reports say (A9, rule 9).

A report holds the lock of the agent's circuit when it writes here, so two reports of one agent never meet.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime

from orders.engine.circuits.quarantine import HostCalls
from orders.engine.circuits.rules import HEARTBEAT_LIMIT
from orders.engine.runtime.sql import fetch, run

COLUMNS = ", ".join(HostCalls._fields)


def read_hosts(agents: Collection[str]) -> dict[str, list[HostCalls]]:
    """The live hosts of these agents, by agent."""
    rows = fetch(
        f"""
        SELECT {COLUMNS}
          FROM orders_agentinstance
         WHERE agent = ANY(%s) AND seen_at > clock_timestamp() - %s * interval '1 second'
        """,
        [list(agents), HEARTBEAT_LIMIT],
    )
    hosts: Mapping[str, list[HostCalls]] = defaultdict(list)
    for row in rows:
        host = HostCalls(*row)
        hosts[host.agent].append(host)
    return dict(hosts)


def write_host(host: HostCalls) -> None:
    """Writes what a report has changed."""
    fields = HostCalls._fields[2:]
    settings = ", ".join(f"{name} = %s" for name in fields)
    run(
        f"UPDATE orders_agentinstance SET {settings} WHERE instance = %s AND agent = %s",
        [*host[2:], host.instance, host.agent],
    )


def end_quarantines(agent: str) -> None:
    """Takes every host of the agent out of quarantine: its remote service fails at others, too."""
    run(
        """
        UPDATE orders_agentinstance
           SET quarantined_at = NULL, probe_at = NULL, probes = 0
         WHERE agent = %s AND quarantined_at IS NOT NULL
        """,
        [agent],
    )


def read_quarantines(instance: str) -> dict[str, tuple[datetime, datetime]]:
    """The quarantines of a host, by agent: since when, and when it may make its next call."""
    rows = fetch(
        """
        SELECT agent, quarantined_at, probe_at
          FROM orders_agentinstance
         WHERE instance = %s AND quarantined_at IS NOT NULL
        """,
        [instance],
    )
    return {agent: (since, probe_at) for agent, since, probe_at in rows}
