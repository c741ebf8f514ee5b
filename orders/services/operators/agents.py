"""What operators may do to an agent: pause and resume it, limit it, or force its circuit open or closed. Each act is
audited."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import transaction

from orders.engine.channels.wakeups import Topic, wake
from orders.engine.circuits import overrides
from orders.engine.circuits.store import read_circuits
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.vocabulary import CircuitState

LOWEST_RATE, HIGHEST_RATE = 0.01, 10_000.0
"""Calls a second."""
HIGHEST_CAPACITY = 10_000
LONGEST_FORCE = 24 * 3600.0
"""The longest, in seconds, that a circuit can be forced, so that a forgotten one expires."""


def pause_agent(*, agent: str, actor: Actor, reason: str) -> Result:
    """Stops sending new steps to an agent. Calls under way continue, and new steps wait."""
    return _act(
        "pause agent",
        agent,
        actor,
        reason,
        lambda: overrides.pause(agent, by=actor.name, reason=reason),
        done=f"The agent {agent} is paused. Its steps wait until it is resumed.",
        already=f"The agent {agent} is already paused.",
    )


def resume_agent(*, agent: str, actor: Actor, reason: str = "") -> Result:
    """Sends steps to a paused agent again, gradually."""
    return _act(
        "resume agent",
        agent,
        actor,
        reason,
        lambda: overrides.resume(agent, by=actor.name),
        done=f"The agent {agent} has been resumed. Waiting steps are let through gradually.",
        already=f"The agent {agent} was not paused.",
    )


def limit_agent(*, agent: str, rate: float | None, capacity: int | None, actor: Actor, reason: str) -> Result:
    """Limits how many calls a second an agent is sent, and how many requests it has at once, until somebody changes
    that. None takes a limit away: then the agent's own counts."""
    limits = [
        *([f"{_plain(rate)} {'call' if rate == 1 else 'calls'} a second"] if rate is not None else []),
        *([f"{capacity} at once"] if capacity is not None else []),
    ]
    words = f"is limited to {' and '.join(limits)}" if limits else "has only its own limits again"
    return _act(
        "limit agent",
        agent,
        actor,
        reason,
        lambda: overrides.limit(agent, rate=rate, capacity=capacity),
        done=f"The agent {agent} {words}. Calls under way continue.",
        already=f"The agent {agent} {words.replace(' again', '')} already.",
    )


def _plain(rate: float) -> str:
    return f"{rate:.2f}".rstrip("0").rstrip(".")


def force_circuit(*, agent: str, state: str, seconds: float, actor: Actor, reason: str) -> Result:
    """Keeps an agent's circuit open or closed for `seconds`, whatever the outcomes of its calls.

    Refuses an unknown state, a duration beyond `LONGEST_FORCE`, and an empty reason.
    """
    if refusal := _why_not_force(state, seconds, reason):
        audit.record(
            actor=actor,
            act="force circuit",
            target=f"agent {agent}",
            result=refusal,
            reason=reason,
            allowed=False,
        )
        return Result(status=ResultStatus.REFUSED, message=refusal)
    return _act(
        "force circuit",
        agent,
        actor,
        reason,
        lambda: overrides.force(agent, state, seconds=seconds, by=actor.name, reason=reason),
        done=f"The circuit of {agent} is forced {state} for {seconds / 60:.0f} min.",
        already=f"The agent {agent} has no circuit yet.",
    )


def _why_not_force(state: str, seconds: float, reason: str) -> str:
    if state not in (CircuitState.OPEN, CircuitState.CLOSED):
        return f"A circuit can be forced open or closed, not {state!r}."
    if not 0 < seconds <= LONGEST_FORCE:
        return f"A circuit can be forced for at most {LONGEST_FORCE / 3600:.0f} h."
    return "" if reason else "Give a reason for forcing the circuit."


def unforce_circuit(*, agent: str, actor: Actor, reason: str = "") -> Result:
    """Lets an agent's circuit follow the outcomes of its calls again."""
    return _act(
        "unforce circuit",
        agent,
        actor,
        reason,
        lambda: overrides.unforce(agent, by=actor.name),
        done=f"The circuit of {agent} follows its calls again.",
        already=f"The circuit of {agent} was not forced.",
    )


def _act(
    act: str,
    agent: str,
    actor: Actor,
    reason: str,
    change: Callable[[], bool],
    *,
    done: str,
    already: str,
) -> Result:
    """Changes a circuit, records the act with the circuit before and after it, and wakes its listeners."""
    with transaction.atomic():
        before = _controls(agent)
        changed = change()
        result = Result(
            status=ResultStatus.DONE if changed else ResultStatus.ALREADY,
            message=done if changed else already,
        )
        audit.record(
            actor=actor,
            act=act,
            target=f"agent {agent}",
            result=result.message,
            reason=reason,
            before=before,
            after=_controls(agent),
        )
        wake(Topic.SCHEDULER, Topic.PROGRESS)
    return result


def _controls(agent: str) -> dict[str, Any] | None:
    """Returns what operators can change about a circuit, as JSON."""
    row = read_circuits([agent]).get(agent)
    if row is None:
        return None
    until: datetime | None = row.forced_until
    return {
        "state": row.state,
        "paused": row.paused,
        "rate": row.set_rate,
        "capacity": row.set_capacity,
        "forced": row.forced,
        "forced_until": until.isoformat() if until else None,
    }
