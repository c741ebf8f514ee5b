"""`manage.py agents`: the agents with their circuits, instances and requests. Suitable as a monitoring check."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from orders.business import registry
from orders.management.operator_command import DONE, REFUSED, ReadingCommand
from orders.management.tables import Column, Fit, table
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import (
    HEARTBEAT_LIMIT,
    AgentStatus,
    Instance,
    agent_statuses,
    orders_needing,
)
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.wording.agents import circuit_reasons, circuit_words, hold_sentence
from orders.wording.units import bounded, counted, duration

_PERIODS = "CALLS and FAILED are since the process started; a declined call has not failed. P95 is of the last minute."


class Command(ReadingCommand):
    help = (
        "Show the agents' circuits, instances and calls, and the requests and steps that wait for them."
        " Exit code 1 if orders need an agent that has no live instance, if an agent is paused or down, or if"
        " nothing is sent to it."
    )

    def work(self, options: dict[str, Any]) -> int:
        steps = [step for workflow in registry.workflows().values() for step in workflow.steps]
        workflow_agents = {step.agent for step in steps if step.waits_for is None}
        moment = now()
        statuses = agent_statuses(now=moment, known_agents=workflow_agents)
        needing = orders_needing([status.name for status in statuses])
        missing = {
            status.name: needing[status.name]
            for status in statuses
            if status.is_down and (needing[status.name] or status.name in workflow_agents)
        }
        held_agents = [status for status in statuses if not status.lets_calls_through]
        if options["json"]:
            self.show_json(_plain(statuses, missing))
        else:
            self._show(statuses, moment)
            self._warn(missing, held_agents)
        return REFUSED if held_agents or any(missing.values()) else DONE

    def _show(self, statuses: Sequence[AgentStatus], moment: datetime) -> None:
        instances = [(status.name, instance) for status in statuses for instance in status.instances]
        requests = [status for status in statuses if status.requests]
        parts = (
            self._circuits(statuses, moment),
            self._instances(instances) if instances else "no agent has reported",
            self._requests(requests) if requests else "no requests are waiting",
        )
        self.stdout.write("\n\n".join(parts))

    def _warn(self, missing: Mapping[str, int], held_agents: Sequence[AgentStatus]) -> None:
        for agent, orders in missing.items():
            needed = "no order needs it now"
            if orders:
                verb = "needs" if orders == 1 else "need"
                needed = f"{counted(orders, 'order', most=MOST_COUNTED)} under way {verb} it"
            style = "bold red" if orders else "yellow"
            self.stdout.write(self.styled(f"! {agent} has no live instance; {needed}", style))
        for status in held_agents:
            self.stdout.write(self.styled(f"! {hold_sentence(status)}", "bold red"))

    def _circuits(self, statuses: Sequence[AgentStatus], moment: datetime) -> str:
        columns = (
            Column("AGENT"),
            Column("STATE"),
            Column("STEPS WAITING", right=True),
            Column("WHY", fit=Fit.WRAP, least=20),
        )
        rows = [
            (
                status.name,
                circuit_words(status),
                bounded(status.waiting, MOST_COUNTED),
                "; ".join(circuit_reasons(status, moment)) or None,
            )
            for status in statuses
        ]
        return table(columns, rows, width=self.width, coloured=self.is_coloured)

    def _instances(self, instances: Sequence[tuple[str, Instance]]) -> str:
        columns = (
            Column("AGENT"),
            Column("INSTANCE", fit=Fit.CUT),
            Column("HEARTBEAT"),
            Column("IN FLIGHT", right=True),
            Column("CAPACITY", right=True),
            Column("CALLS", right=True),
            Column("FAILED", right=True),
            Column("P95", right=True),
        )
        rows = [_instance_row(agent, instance) for agent, instance in instances]
        text = table(columns, rows, width=self.width, coloured=self.is_coloured)
        text += f"\n{_PERIODS}"
        limit = f"{HEARTBEAT_LIMIT:.0f} s"
        if not all(instance.alive for _, instance in instances):
            text += f"\nSTALE: no heartbeat for {limit}; it has stopped, hangs, or has lost the database"
        if any(instance.is_quarantined for _, instance in instances):
            text += (
                "\nIN QUARANTINE: its calls fail while those of other instances succeed; look at its network"
            )
        return text

    def _requests(self, statuses: Sequence[AgentStatus]) -> str:
        columns = (
            Column("REQUESTS FOR"),
            Column("WAITING", right=True),
            Column("OLDEST", right=True),
            Column("IN HAND", right=True),
        )
        rows = [
            (
                status.name,
                f"{status.requests - status.in_hand:,}",
                duration(status.oldest_seconds) if status.oldest_seconds is not None else None,
                f"{status.in_hand:,}",
            )
            for status in statuses
        ]
        return table(columns, rows, width=self.width, coloured=self.is_coloured)


def _instance_row(agent: str, instance: Instance) -> tuple[object, ...]:
    failed = f"{instance.failed_calls:,}"
    if instance.calls:
        failed += f" ({100 * instance.failed_calls / instance.calls:.0f} %)"
    return (
        agent,
        instance.name,
        f"{duration(instance.seen_seconds)} ago{_remark(instance)}",
        instance.in_flight,
        instance.capacity,
        f"{instance.calls:,}",
        failed,
        duration(instance.p95_seconds) if instance.p95_seconds is not None else None,
    )


def _remark(instance: Instance) -> str:
    if not instance.alive:
        return ", STALE"
    return ", IN QUARANTINE" if instance.is_quarantined else ""


def _plain(statuses: Sequence[AgentStatus], missing: Mapping[str, int]) -> dict[str, Any]:
    """The output for scripts."""
    return {
        "instances": [
            {"agent": status.name, "instance": instance.name}
            | {name: value for name, value in vars(instance).items() if name != "name"}
            for status in statuses
            for instance in status.instances
        ],
        "queues": [
            {
                "agent": status.name,
                "waiting": status.requests - status.in_hand,
                "in_hand": status.in_hand,
                "oldest_seconds": status.oldest_seconds,
            }
            for status in statuses
            if status.requests
        ],
        "missing": missing,
        "circuits": [_plain_circuit(status) for status in statuses],
    }


def _plain_circuit(status: AgentStatus) -> dict[str, Any]:
    circuit = status.circuit
    return {
        "agent": status.name,
        "state": status.state,
        "lets_calls_through": status.lets_calls_through,
        "waiting": status.waiting,
        "cause_code": circuit.cause_code,
        "cause_message": circuit.cause_message,
        "opened_at": circuit.opened_at,
        "probe_at": circuit.probe_at,
        "paused": circuit.paused,
        "forced_until": circuit.forced_until if status.is_forced else None,
        "held_by": status.held_by,
        "held_reason": status.held_reason,
    }
