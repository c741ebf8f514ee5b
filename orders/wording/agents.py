"""What holds up an agent, in words: for the overview and for `manage.py agents`."""

from collections.abc import Iterator
from datetime import datetime

from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.vocabulary import CircuitState
from orders.wording.state_labels import CIRCUIT_STATES, FORCED_CIRCUITS, pill_of
from orders.wording.units import counted, duration, number


def circuit_words(status: AgentStatus) -> str:
    """Says whether an agent's service works, and what an operator did to it: "down", "sent nothing, forced"."""
    words = [pill_of(FORCED_CIRCUITS if status.is_forced else CIRCUIT_STATES, status.state).label]
    if status.circuit.paused:
        words.append("paused")
    return ", ".join(words)


def down_sentence(status: AgentStatus) -> str:
    """Says that no process runs an agent."""
    return f"No process runs the agent {status.name}; {_waiting(status)}."


def hold_sentence(status: AgentStatus) -> str:
    """Says why an agent gets no calls: it is paused, down or being tried, or forced."""
    if status.circuit.paused:
        return f"The agent {status.name} was paused by {status.held_by or 'an operator'}; {_waiting(status)}."
    return f"The agent {status.name} is {circuit_words(status)}; {_waiting(status)}."


def draining_sentence(status: AgentStatus) -> str:
    """Says that an agent is back and is working through the steps that waited."""
    return (
        f"The agent {status.name} is back, at {status.ramp_percent}% of its usual load; {_waiting(status)}."
    )


def circuit_reasons(status: AgentStatus, now: datetime) -> Iterator[str]:
    """Yields who holds a circuit and why, its limits, what opened it, and when it is probed. Nothing if all is well."""
    circuit = status.circuit
    if circuit.paused or status.is_forced:
        until = f", for another {_remaining(circuit.forced_until, now)}" if status.is_forced else ""
        reason = f": {status.held_reason}" if status.held_reason else ""
        act = "paused" if circuit.paused else "forced"
        yield f"{act} by {status.held_by or 'an operator'}{until}{reason}"
    if limits := limits_in_words(circuit.set_rate, circuit.set_capacity):
        yield f"limited by an operator to {limits}"
    if circuit.state != CircuitState.CLOSED:
        opened = circuit.opened_at
        since = f", for {duration((now - opened).total_seconds())} now" if opened else ""
        yield f"{circuit.cause_code} {circuit.cause_message}".strip() + since
    if probe := _probe(status, now):
        yield probe
    if status.is_draining:
        yield f"draining, ramp at {status.ramp_percent}%"


def limits_in_words(rate: float | None, capacity: int | None) -> str:
    """An operator's limits of what an agent is sent: "1 call a second and 8 at once"; empty without any."""
    limits = [
        *([f"{number(rate)} {'call' if rate == 1 else 'calls'} a second"] if rate is not None else []),
        *([f"{number(capacity)} at once"] if capacity is not None else []),
    ]
    return " and ".join(limits)


def _probe(status: AgentStatus, now: datetime) -> str:
    if status.is_probe_due:
        return "a try is due"
    if status.circuit.paused or status.is_forced or status.circuit.probe_at is None:
        return ""
    remaining = _remaining(status.circuit.probe_at, now)
    if status.state == CircuitState.OPEN:
        return f"next try in {remaining}"
    return f"a try is under way and counts as lost in {remaining}"


def _remaining(until: datetime | None, now: datetime) -> str:
    return duration((until - now).total_seconds()) if until else "a while"


def _waiting(status: AgentStatus) -> str:
    verb = "is" if status.waiting == 1 else "are"
    return f"{counted(status.waiting, 'step', most=MOST_COUNTED)} {verb} waiting for it"
