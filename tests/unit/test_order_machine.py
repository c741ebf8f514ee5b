"""The life of one order as a state machine: replies, expiries, refusals, cancellations, resubmissions, outages.

Hypothesis plays everything around the order, in any sequence: what agents answer and when, what the supervisor finds,
what customers and operators request, whether the agents' circuits let calls through. The decisions are the real ones
(`OrderPass`, `rule_on`, `reset_step`), on the world in memory of tests/unit/whole_world.py. When the faults are over,
the order ends within a bounded number of passes, and the remote's effects match the state.
"""

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from orders.engine.contracts import Workflow
from tests.unit.whole_world import KEY_RETENTION, PATIENCE, WholeWorld
from tests.unit.world import SOME_TURNS, Call, workflows

SEED = int(os.environ.get("SAS_SEED", "1"))
PHASES = [Phase.generate, *([Phase.shrink] if "SAS_SEED" in os.environ else [])]
"""Shrinking takes minutes, so only a run that repeats a seed shrinks."""
ANSWERS = ("done", "done", "done", "refused", "declined", "failed", "deferred", "not_called")
KINDS = ((KEY_RETENTION, False), (KEY_RETENTION, True), (0.0, True))
"""How long a step's remote service recognises a key, and whether it can be asked."""
indexes = st.integers(0, 4)


class OrderMachine(RuleBasedStateMachine):
    """One order, and everything that may happen to it."""

    world: WholeWorld

    @initialize(workflow=workflows(), kinds=st.lists(st.sampled_from(KINDS), min_size=5, max_size=5))
    def place(self, workflow: Workflow, kinds: list[tuple[float, bool]]) -> None:
        steps = tuple(
            replace(step, patience=PATIENCE, key_retention=key_retention, can_be_asked=can_be_asked)
            for step, (key_retention, can_be_asked) in zip(workflow.steps, kinds, strict=False)
        )
        self.world = WholeWorld(replace(workflow, steps=steps))
        self.world.run_pass()

    def _calls(self) -> list[Call]:
        return self.world.calls if hasattr(self, "world") else []

    @precondition(lambda self: self._calls())
    @rule(index=indexes, outcome=st.sampled_from(ANSWERS))
    def answer(self, index: int, outcome: str) -> None:
        call = self.world.calls[index % len(self.world.calls)]
        if outcome in ("deferred", "not_called"):
            self.world.defer(call, was_called=outcome == "deferred")
        else:
            self.world.answer(call, outcome)
        self.world.run_pass()

    @precondition(lambda self: self._calls())
    @rule(index=indexes)
    def land_unanswered(self, index: int) -> None:
        self.world.land(self.world.calls[index % len(self.world.calls)])

    @precondition(lambda self: self._calls())
    @rule(index=indexes)
    def begin(self, index: int) -> None:
        self.world.begin(self.world.calls[index % len(self.world.calls)])

    @precondition(lambda self: hasattr(self, "world") and self.world.posted)
    @rule(index=indexes)
    def reply_twice(self, index: int) -> None:
        self.world.unread.append(self.world.posted[-1 - index % len(self.world.posted)])
        self.world.run_pass()

    @rule(is_swept=st.booleans())
    def pass_time(self, is_swept: bool) -> None:
        self.world.wait()
        if is_swept:
            self.world.sweep()
        self.world.run_pass()

    @rule()
    def outage_until_calls_expire(self) -> None:
        """The agents are unavailable until every call under way has expired."""
        self.world.is_available = False
        self.world.wait()
        self.world.sweep()
        self.world.run_pass()

    @rule()
    def long_silence(self) -> None:
        """Nothing runs for as long as the remote service remembers a key; then everything runs again."""
        self.world.now += timedelta(seconds=KEY_RETENTION)
        self.world.wait()
        self.world.sweep()
        self.world.run_pass()

    @rule()
    def sweep(self) -> None:
        self.world.sweep()

    @rule()
    def run_another_pass(self) -> None:
        self.world.run_pass()

    @precondition(lambda self: hasattr(self, "world") and self.world.row.goal == "complete")
    @rule()
    def cancel(self) -> None:
        self.world.row = self.world.row._replace(
            goal="compensate", process_state="pending", locked_by=None, not_before=None, complete_by=None
        )
        self.world.run_pass()

    @precondition(lambda self: hasattr(self, "world") and self.world.row.process_state == "error")
    @rule()
    def resubmit(self) -> None:
        self.world.resubmit()
        self.world.run_pass()

    @precondition(lambda self: hasattr(self, "world") and self.world.row.goal == "complete")
    @rule(reverse=st.sampled_from([True, True, False]))
    def correct(self, reverse: bool) -> None:
        self.world.correct(reverse=reverse)
        self.world.run_pass()

    @rule(is_available=st.booleans(), credit=st.sampled_from([None, None, 0, 1, 3]))
    def change_circuit(self, is_available: bool, credit: int | None) -> None:
        self.world.is_available, self.world.credit = is_available, credit
        self.world.run_pass()

    def teardown(self) -> None:
        """P4: once the faults are over, a bounded number of passes brings the order to an end."""
        if not hasattr(self, "world"):
            return
        world = self.world
        world.is_available, world.credit = True, None
        world.run_pass()
        for _ in range(SOME_TURNS):
            if world.ended:
                world.check_the_end()
                return
            due = [call for call in world.calls if call.step.attempt > world.steps[call.step.name].answered]
            if due:
                world.answer(due[-1], "done")
            else:
                world.wait()
                world.sweep()
            world.run_pass()
        raise AssertionError(f"no end: {world.row} {list(world.steps.values())} {world.story}")


class CorrectedMachine(OrderMachine):
    """The same of an order that is corrected at once: nobody knows whether its first calls had their effects."""

    @initialize(
        workflow=workflows(),
        kinds=st.lists(st.sampled_from(KINDS), min_size=5, max_size=5),
        has_landed=st.booleans(),
        is_reversed=st.booleans(),
    )
    def place(
        self, workflow: Workflow, kinds: list[tuple[float, bool]], has_landed: bool, is_reversed: bool
    ) -> None:
        super().place(workflow=workflow, kinds=kinds)
        for call in list(self.world.calls):
            if has_landed:
                self.world.land(call)
            self.world.answer(call, "failed")
        self.world.run_pass()
        if self.world.row.goal == "complete":
            self.world.correct(reverse=True)
            self.world.run_pass()
            self.world.wait()  # until those calls can no longer land
            self.world.run_pass()
        for call in [call for call in self.world.calls if call.compensates and is_reversed]:
            self.world.answer(call, "done")
        self.world.run_pass()


@pytest.mark.parametrize(("machine", "lives"), [(OrderMachine, 120), (CorrectedMachine, 60)])
@pytest.mark.pattern("C1", "C6", "C8", "C9", "C10", "A7", "V2", "V3", "O2", "F13", "F14", "F16", "F29")
def test_an_order_ends_correctly_whatever_happens_to_it_in_any_order(
    machine: type[OrderMachine], lives: int
) -> None:
    """I2, I3, I4, I7, I8, I10, I11. Another seed: SAS_SEED=7 bin/test tests/unit/test_order_machine.py"""
    print(f"SAS_SEED={SEED}")
    run_state_machine_as_test(
        seed(SEED)(machine),
        settings=settings(
            max_examples=lives,
            stateful_step_count=40,
            deadline=None,
            database=None,
            print_blob=True,
            phases=PHASES,
            report_multiple_bugs=False,
        ),
    )
