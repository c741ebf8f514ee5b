"""Two sessions work on one order, step by step in every interleaving, as in PostgreSQL's isolation tests.

Both sessions have begun a transaction. Each acts and then commits, and there are six ways to interleave that (when a
transaction begins makes no difference at READ COMMITTED). A step that has to wait for the other session goes on when
that session has committed. In every interleaving the result must be that of a serial run: the session that acts first
finishes first. Afterwards the roles go on, and the order ends correctly.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from itertools import combinations
from typing import Any

import pytest

from orders.models import AgentRequest, Alert, OrderProcess
from tests.support import histories, invariants
from tests.support.factories import ago
from tests.support.rivals import (
    BOUND,
    Act,
    Scenario,
    a_pass,
    another_pass,
    answered,
    being_compensated,
    call_back,
    cancel,
    due_again,
    in_error,
    lapsed,
    left_by,
    let_it_end,
    new,
    overdue,
    parked,
    poll,
    post_answer,
    put_off,
    resubmit,
    roles,
    start_afresh,
    sweep,
    take_over_and_sweep,
    take_request,
)
from tests.support.two_sessions import NewSession, Session
from tests.support.wait import until
from tests.support.workflows import CAKE

__all__ = ["roles"]

SCENARIOS = {
    "claim and claim": Scenario(
        prepare=new,
        acts=(a_pass, another_pass),
        results=((None, None), (None, None)),
        states=(("processing", "complete", {"mix": ("running", 1, 0)}),) * 2,
        end="processed",
    ),
    "claim and cancel": Scenario(
        prepare=new,
        acts=(a_pass, cancel),
        results=((None, "done"), (None, "done")),
        states=(
            ("processing", "compensate", {"mix": ("not_started", 1, 0)}),
            ("processing", "compensate", {"mix": ("not_started", 0, 0)}),
        ),
        end="compensated",
    ),
    "reply and reply": Scenario(
        prepare=answered(),
        acts=(a_pass, another_pass),
        results=((None, None), (None, None)),
        states=(("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),) * 2,
        end="processed",
    ),
    "reply and cancel": Scenario(
        prepare=answered(),
        acts=(a_pass, cancel),
        results=((None, "done"), (None, "done")),
        states=(
            ("processing", "compensate", {"mix": ("compensating", 2, 0), "bake": ("not_started", 1, 0)}),
            ("processing", "compensate", {"mix": ("compensating", 2, 0), "bake": ("not_started", 0, 0)}),
        ),
        end="compensated",
    ),
    "refusal and cancel": Scenario(
        prepare=answered("refused"),
        acts=(a_pass, cancel),
        results=((None, "done"), (None, "done")),
        states=(("processing", "compensate", {"mix": ("failed", 1, 0)}),) * 2,
        end="compensated",
    ),
    "reply and sweep": Scenario(
        prepare=overdue(with_reply=True),
        acts=(a_pass, sweep),
        results=((None, "swept"), (None, "swept")),
        states=(
            ("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),
            ("processing", "complete", {"mix": ("completed", 1, 1), "bake": ("running", 1, 0)}),
        ),
        end="processed",
    ),
    "sweep and cancel": Scenario(
        prepare=overdue(with_reply=False),
        acts=(sweep, cancel),
        results=(("swept", "done"), ("swept", "done")),
        states=(
            ("pending", "compensate", {"mix": ("not_started", 1, 1)}),
            ("pending", "compensate", {"mix": ("not_started", 1, 0)}),
        ),
        end="compensated",
    ),
    "sweep and the sweep of a new leader": Scenario(
        prepare=lapsed,
        acts=(sweep, take_over_and_sweep),
        results=(("swept", "stood by"), ("lost", "swept")),
        states=(("pending", "complete", {"mix": ("not_started", 1, 1)}),) * 2,
        end="processed",
    ),
    "resubmit and resubmit": Scenario(
        prepare=in_error(),
        acts=(resubmit, resubmit),
        results=(("done", "already"), ("already", "done")),
        states=(("processing", "complete", {"mix": ("running", 2, 0)}),) * 2,
        end="processed",
    ),
    "resubmit and cancel": Scenario(
        prepare=in_error(),
        acts=(resubmit, cancel),
        results=(("done", "done"), ("already", "done")),
        states=(
            ("processing", "compensate", {"mix": ("not_started", 1, 0)}),
            ("processing", "compensate", {"mix": ("failed", 1, 0)}),
        ),
        end="compensated",
    ),
    "resubmit and late reply": Scenario(
        prepare=in_error(unknown=True),
        acts=(resubmit, a_pass),
        results=(("done", None), ("done", None)),
        states=(
            ("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),
            ("processing", "complete", {"mix": ("completed", 1, 3), "bake": ("running", 1, 0)}),
        ),
        end="processed",
    ),
    "an agent takes a request and it is recalled": Scenario(
        prepare=being_compensated,
        acts=(take_request, a_pass),
        results=((1, None), (0, None)),
        states=(
            ("processing", "compensate", {"mix": ("running", 1, 0)}),
            ("processing", "compensate", {"mix": ("not_started", 1, 0)}),
        ),
        end="compensated",
    ),
    "an answer and the next attempt": Scenario(
        prepare=due_again,
        acts=(post_answer, a_pass),
        results=((1, None), (0, None)),
        states=(
            ("processing", "complete", {"mix": ("completed", 1, 1), "bake": ("running", 1, 0)}),
            ("processing", "complete", {"mix": ("running", 2, 1)}),
        ),
        end="processed",
        # The pass looked for replies before the answer was there: one call too many, under the same key.
        also=(("processing", "complete", {"mix": ("running", 2, 1)}),),
    ),
    "callback and callback": Scenario(
        prepare=parked(),
        acts=(call_back, call_back),
        results=(("taken", "already"), ("already", "taken")),
        states=(("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),) * 2,
        end="processed",
    ),
    "callback and pass": Scenario(
        prepare=parked(),
        acts=(call_back, a_pass),
        results=(("taken", None),) * 2,
        states=(("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),) * 2,
        end="processed",
    ),
    "callback and the agent's own answer": Scenario(
        prepare=put_off,
        acts=(call_back, a_pass),
        results=(("taken", None),) * 2,
        states=(("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),) * 2,
        end="processed",
    ),
    "callback and the agent that is to ask again": Scenario(
        prepare=parked(not_before=lambda: ago(1)),
        acts=(call_back, a_pass),
        results=(("taken", None),) * 2,
        states=(
            ("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),
            ("processing", "complete", {"mix": ("completed", 2, 0), "bake": ("running", 1, 0)}),
        ),
        end="processed",
    ),
    "callback and cancel": Scenario(
        prepare=parked(),
        acts=(call_back, cancel),
        results=(("taken", "done"), ("late", "done")),
        states=(("processing", "compensate", {"mix": ("compensating", 2, 0)}),) * 2,
        end="compensated",
    ),
    "late callback and sweep": Scenario(
        prepare=parked(complete_by=lambda: ago(1), awaits_until=lambda: ago(1)),
        acts=(call_back, sweep),
        results=(("late", "swept"),) * 2,
        states=(("pending", "complete", {"mix": ("not_started", 1, 1)}),) * 2,
        end="processed",
        # On a busy machine its retry is due before the poll ends.
        also=(("processing", "complete", {"mix": ("running", 2, 1)}),),
    ),
}


def interleavings() -> Iterator[tuple[int, ...]]:
    """Which session takes the next of its two steps, in all six ways."""
    for first_turns in combinations(range(4), 2):
        yield tuple(0 if place in first_turns else 1 for place in range(4))


class Side:
    """One session on its way through an act and its commit."""

    def __init__(self, session: Session, act: Act) -> None:
        self.session = session
        self.act = act
        self.acted: Future[Any] | None = None
        self._owes_commit = False
        session.begin()

    def step(self, order: OrderProcess) -> None:
        """Takes the next step. While the act waits for the other session, the commit is still owed."""
        if self.acted is None:
            self.acted = self.session.start(lambda: self.act(order))
            until(self.is_settled, seconds=BOUND, what="the act's end or wait")
        else:
            self._owes_commit = True
            self.catch_up()

    def catch_up(self) -> None:
        """Makes an owed commit, if the act has ended."""
        if self._owes_commit:
            until(self.is_settled, seconds=BOUND, what="the act's end or next wait")
            if self.acted is not None and self.acted.done():
                self._owes_commit = False
                self.session.commit()

    def is_settled(self) -> bool:
        """Whether the act has ended, or waits for the other session."""
        return self.acted is not None and (self.acted.done() or self.session.is_waiting())


def interleave(
    sessions: tuple[Session, Session], scenario: Scenario, turns: tuple[int, ...], order: OrderProcess
) -> tuple[Any, Any]:
    """Runs both acts in this interleaving; returns their results."""
    sides = [Side(session, act) for session, act in zip(sessions, scenario.acts, strict=True)]
    for turn in turns:
        sides[turn].step(order)
        sides[1 - turn].catch_up()
    results = [side.acted.result(timeout=BOUND) for side in sides if side.acted is not None]
    return results[0], results[1]


def check_history(order: OrderProcess) -> None:
    """The invariants that an order's history and rows must keep."""
    ids = [order.order_id]
    histories.predecessors_first(ids, CAKE)
    histories.attempts_only_grow(ids)
    histories.compensated_in_reverse(ids, CAKE)
    invariants.one_instance_per_transition(ids)
    invariants.every_error_has_one_alert()
    assert not AgentRequest.objects.exists()
    assert Alert.objects.filter(closed_at=None).count() == 0


@pytest.mark.pattern("C2", "C3", "C6", "C9", "C10", "V2", "V6", "O2", "A5", "F5", "F9", "F13", "F19", "F33")
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_two_sessions_give_a_legal_result_in_every_interleaving(
    scenario: Scenario, new_session: NewSession
) -> None:
    """I4, I5, I6, I9, I10."""
    sessions = new_session(), new_session()
    seen: list[Any] = []
    for turns in interleavings():
        order = scenario.prepare()
        results = interleave(sessions, scenario, turns, order)
        first = turns[0]
        poll(scenario)
        state = left_by(order, CAKE.by_name)
        outcome = (results, state)
        as_if_serial = (scenario.results[first], scenario.states[first])
        legal = [as_if_serial, *((scenario.results[first], other_state) for other_state in scenario.also)]
        assert any(results == legal_results and _agrees(state, rows) for legal_results, rows in legal), (
            turns,
            outcome,
            legal,
        )
        if outcome not in seen:
            seen.append(outcome)
            assert let_it_end(order) == scenario.end, turns
            check_history(order)
        start_afresh()


def _agrees(state: Any, expected: Any) -> bool:
    """Whether an order is in the expected state; compares only the steps that `expected` names."""
    steps = {name: state[2][name] for name in expected[2]}
    return bool((state[0], state[1], steps) == expected)
