"""`manage.py agents`: the agents, their instances and their queue."""

from typing import Any

from orders import wiring
from orders.management.operator import DONE, REFUSED, ReadingCommand, now
from orders.management.tables import Column, Fit, duration, number, table
from orders.operations.health import STALE, Agents, Instance, agents


class Command(ReadingCommand):
    help = (
        "Shows the agents' instances, their calls and what waits for them."
        " Exit code 1 when orders need an agent that has no live instance."
    )

    def work(self, options: dict[str, Any]) -> int:
        known = {step.agent for workflow in wiring.workflows().values() for step in workflow.steps}
        found = agents(known, now=now())
        if options["json"]:
            self.show_json(found)
        else:
            self._show(found)
        return REFUSED if any(found.missing.values()) else DONE

    def _show(self, found: Agents) -> None:
        if found.instances:
            self.stdout.write(_instances(found.instances, self.width))
        else:
            self.stdout.write("no agent has reported")
        self.stdout.write("")
        if found.queues:
            self.stdout.write(_queues(found, self.width))
        else:
            self.stdout.write("no requests are waiting")
        for agent, orders in found.missing.items():
            needed = (
                f"{number(orders, 'order')} under way {'needs' if orders == 1 else 'need'} it"
                if orders
                else "no order needs it now"
            )
            self.stdout.write(
                self.painted("ERROR" if orders else "WARNING", f"! {agent} has no live instance; {needed}")
            )


def _instances(instances: list[Instance], width: int) -> str:
    columns = (
        Column("AGENT"),
        Column("INSTANCE", fit=Fit.CUT),
        Column("HEARTBEAT"),
        Column("IN FLIGHT", right=True),
        Column("CAPACITY", right=True),
        Column("CALLS", right=True),
        Column("FAILED", right=True),
        Column("MEAN", right=True),
    )
    rows = [
        (
            one.agent,
            one.instance,
            f"{duration(one.seen_seconds)} ago{'' if one.alive else ', STALE'}",
            one.in_flight,
            one.capacity,
            f"{one.calls:,}",
            f"{one.failed_calls:,}" + (f" ({100 * one.failed_calls / one.calls:.0f} %)" if one.calls else ""),
            duration(one.mean_seconds) if one.mean_seconds is not None else None,
        )
        for one in instances
    ]
    note = ""
    if not all(one.alive for one in instances):
        note = f"\nSTALE: not heard of for {STALE:.0f} s; it is stopped, hangs, or has lost the database"
    return table(columns, rows, width=width) + note


def _queues(found: Agents, width: int) -> str:
    columns = (
        Column("REQUESTS FOR"),
        Column("WAITING", right=True),
        Column("OLDEST", right=True),
        Column("IN HAND", right=True),
    )
    rows = [
        (
            queue.agent,
            f"{queue.waiting:,}",
            duration(queue.oldest_seconds) if queue.oldest_seconds is not None else None,
            f"{queue.in_hand:,}",
        )
        for queue in found.queues
    ]
    return table(columns, rows, width=width)
