"""What operators can override about a circuit: pause and resume its agent, limit what it is sent, and force it open or
closed or stop forcing it."""

from datetime import timedelta

from orders.engine.circuits.rules import CircuitRow
from orders.engine.circuits.store import read_circuits, write_circuit
from orders.engine.runtime.sql import database_now
from orders.vocabulary import CircuitState


def pause(agent: str, *, by: str, reason: str) -> bool:
    """Stops new work from being sent to an agent; False if it is paused already or unknown. Calls under way go on."""
    circuit = _lock(agent)
    if circuit is None or circuit.paused:
        return False
    write_circuit(circuit._replace(paused=True), held_by=by, held_reason=reason)
    return True


def resume(agent: str, *, by: str) -> bool:
    """Lets work be sent to an agent again; False if it is not paused or unknown. The ramp admits what has waited."""
    circuit = _lock(agent)
    if circuit is None or not circuit.paused:
        return False
    write_circuit(circuit._replace(paused=False, closed_at=database_now()), held_by=by, held_reason="")
    return True


def limit(agent: str, *, rate: float | None, capacity: int | None) -> bool:
    """Limits the calls a second and the requests outstanding at once; None is the agent's own limit. False if these are
    its limits already or it is unknown. What is under way goes on."""
    circuit = _lock(agent)
    if circuit is None or (circuit.set_rate, circuit.set_capacity) == (rate, capacity):
        return False
    write_circuit(circuit._replace(set_rate=rate, set_capacity=capacity))
    return True


def force(agent: str, state: str, *, seconds: float, by: str, reason: str) -> bool:
    """Keeps a circuit open or closed for that long, however its calls go; False if there is no such agent."""
    circuit = _lock(agent)
    if circuit is None:
        return False
    until = database_now() + timedelta(seconds=seconds)
    write_circuit(circuit._replace(forced=state, forced_until=until), held_by=by, held_reason=reason)
    return True


def unforce(agent: str, *, by: str) -> bool:
    """Lets a circuit follow its calls again; False if it was not forced. The ramp admits what has waited."""
    circuit = _lock(agent)
    if circuit is None or not circuit.forced:
        return False
    released = circuit._replace(forced="", forced_until=None)
    if circuit.forced == CircuitState.OPEN:
        released = released._replace(closed_at=database_now())  # the ramp begins now
    write_circuit(released, held_by=by, held_reason="")
    return True


def _lock(agent: str) -> CircuitRow | None:
    return read_circuits([agent], lock="FOR UPDATE").get(agent)
