"""`manage.py agents`: the agents, their circuits, their instances and their queue."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from orders import wiring
from orders.management.operator import DONE, REFUSED, ReadingCommand, now
from orders.management.tables import Column, Fit, table
from orders.selectors.desk.agents import AgentStatus, agent_statuses
from orders.selectors.desk.health import STALE, Agents, Instance, agents
from orders.selectors.desk.status_bar import MOST_COUNTED
from orders.vocabulary import CircuitState
from orders.wording.units import bounded, counted, duration


class Command(ReadingCommand):
    help = (
        "Shows the agents' circuits, instances, calls and what waits for them. Exit code 1 when orders need an agent"
        " that has no live instance, and when an agent is paused or its circuit is not closed."
    )

    def work(self, options: dict[str, Any]) -> int:
        known = {step.agent for workflow in wiring.workflows().values() for step in workflow.steps}
        moment = now()
        found = agents(known, now=moment)
        statuses = agent_statuses(now=moment, known=known)
        held = [one for one in statuses if not one.lets_calls_through]
        if options["json"]:
            self.show_json(asdict(found) | {"circuits": [_plain_circuit(one) for one in statuses]})
        else:
            self.stdout.write(_circuits(statuses, moment, self.width))
            self.stdout.write("")
            self._show(found)
            for one in held:
                self.stdout.write(self.painted("ERROR", f"! {one.name} {_held(one)}; {_waiting(one)} for it"))
        return REFUSED if held or any(found.missing.values()) else DONE

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
                f"{counted(orders, 'order')} under way {'needs' if orders == 1 else 'need'} it"
                if orders
                else "no order needs it now"
            )
            self.stdout.write(
                self.painted("ERROR" if orders else "WARNING", f"! {agent} has no live instance; {needed}")
            )


def _circuits(statuses: Sequence[AgentStatus], moment: datetime, width: int) -> str:
    columns = (
        Column("CIRCUIT OF"),
        Column("STATE"),
        Column("STEPS WAITING", right=True),
        Column("WHY", fit=Fit.WRAP, least=20),
    )
    rows = [(one.name, _state(one), _bounded(one.waiting), _why(one, moment) or None) for one in statuses]
    return table(columns, rows, width=width)


def _state(one: AgentStatus) -> str:
    words = [one.state.replace("_", " ")]
    if one.is_forced:
        words.append("forced")
    if one.circuit.paused:
        words.append("paused")
    return ", ".join(words)


def _bounded(waiting: int) -> str:
    return bounded(waiting, MOST_COUNTED)


def _why(one: AgentStatus, moment: datetime) -> str:
    """Who holds it and why, what opened it and since when, and when it is probed; empty while all is well."""
    circuit = one.circuit
    said = []
    if circuit.paused or one.is_forced:
        until = f", for another {_ahead(circuit.forced_until, moment)}" if one.is_forced else ""
        reason = f": {one.held_reason}" if one.held_reason else ""
        said.append(
            f"{'paused' if circuit.paused else 'forced'} by {one.held_by or 'nobody known'}{until}{reason}"
        )
    if circuit.state != CircuitState.CLOSED:
        since = (
            f", for {duration((moment - circuit.opened_at).total_seconds())} now" if circuit.opened_at else ""
        )
        said.append(f"{circuit.cause_code} {circuit.cause_message}".strip() + since)
    if probe := _probe(one, moment):
        said.append(probe)
    if one.is_draining:
        said.append(f"draining, ramp at {one.ramp_percent} %")
    return "; ".join(said)


def _probe(one: AgentStatus, moment: datetime) -> str:
    if one.is_probe_due:
        return "a probe is due"
    if one.circuit.paused or one.is_forced or one.circuit.probe_at is None:
        return ""
    ahead = _ahead(one.circuit.probe_at, moment)
    if one.state == CircuitState.OPEN:
        return f"next probe in {ahead}"
    return f"a probe is under way, and counts as lost in {ahead}"


def _ahead(until: datetime | None, moment: datetime) -> str:
    return duration((until - moment).total_seconds()) if until else "a while"


def _held(one: AgentStatus) -> str:
    return (
        f"is paused by {one.held_by or 'nobody known'}"
        if one.circuit.paused
        else f"has a circuit that is {_state(one)}"
    )


def _waiting(one: AgentStatus) -> str:
    return f"{_bounded(one.waiting)} {'step waits' if one.waiting == 1 else 'steps wait'}"


def _plain_circuit(one: AgentStatus) -> dict[str, Any]:
    """What a script is told of a circuit."""
    circuit = one.circuit
    return {
        "agent": one.name,
        "state": one.state,
        "lets_calls_through": one.lets_calls_through,
        "waiting": one.waiting,
        "cause_code": circuit.cause_code,
        "cause_message": circuit.cause_message,
        "opened_at": circuit.opened_at,
        "probe_at": circuit.probe_at,
        "paused": circuit.paused,
        "forced_until": circuit.forced_until if one.is_forced else None,
        "held_by": one.held_by,
        "held_reason": one.held_reason,
    }


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
