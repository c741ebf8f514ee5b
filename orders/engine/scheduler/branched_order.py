"""One order's branches during one pass of the scheduler: which steps are skipped, and what runs for each item."""

import json
from collections.abc import Sequence
from enum import Enum, auto

from orders.engine.branches import BranchError, Facts, NewItem, holds, items_of
from orders.engine.contracts import Json, Step, Workflow
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.text import strict_json
from orders.engine.scheduler import branching
from orders.engine.scheduler.order_record import OrderRecord
from orders.vocabulary import EventKind, Goal


class Turn(Enum):
    """What becomes of a step whose turn has come."""

    START = auto()
    """It is started."""
    OVER = auto()
    """It has ended, and others may be ready now."""
    LATER = auto()
    """It is for another pass."""


class BranchedOrder(OrderRecord):
    """Decides branches on `facts`, which the scheduler reads for the orders that ask for them.

    `new_items` are the steps to be added. These can be started once they are written, and without facts nothing is
    decided: then the order `needs_another_pass`.
    """

    def __init__(
        self, *, row: ProcessRow, steps: Sequence[StepRow], workflow: Workflow, instance: str
    ) -> None:
        super().__init__(row=row, steps=steps, workflow=workflow, instance=instance)
        self.facts: Facts | None = None
        self.new_items: list[NewItem] = []
        self.needs_another_pass = False

    def _turn_of(self, step: StepRow, declared: Step) -> Turn:
        """Decides about a step whose turn has come. If the business's own code cannot, the step fails: that is no
        reason to hold up other orders, nor for the remedy of a step that was never sent."""
        if self.row.goal == Goal.COMPENSATE or not branching.asks(step, declared):
            return Turn.START
        if self.facts is None:
            self.needs_another_pass = True
            return Turn.LATER
        try:
            return self._branch(step, declared, self.facts)
        except BranchError as error:
            failed = self.steps[step.name] = branching.fail(step, error)
            self._note(EventKind.STEP_GIVEN_UP, failed, error=failed.error)
            return Turn.OVER

    def _branch(self, step: StepRow, declared: Step, read: Facts) -> Turn:
        """Decides about a step on what was read and what came in this pass. Raises `BranchError`."""
        own = {name: json.loads(text) for name, text in self._results.items()}
        facts = Facts(read.data, {**read.results, **own})
        view = branching.known_before(self._workflow, step.name, facts)
        if branching.asks_condition(step, declared) and not holds(declared.when, step.name, view):
            self.steps[step.name] = branching.skip(step)
            self._note(EventKind.STEP_SKIPPED, step, condition=False)
            return Turn.OVER
        if declared.each is None:
            return Turn.START
        if not step.attempt and self._add_items(step, items_of(declared.each, step.name, view)):
            return Turn.LATER
        self._join(step.name, facts)
        return Turn.OVER

    def _add_items(self, step: StepRow, items: Sequence[Json]) -> bool:
        """Parks a joint until its items have ended. Returns whether there are any."""
        agent = self._workflow.step_of(step.name).agent
        parked, added = branching.add_items(step, agent, items)
        self.steps[step.name] = parked
        self.new_items += added
        self.needs_another_pass |= bool(added)
        self._note_wait(parked)
        return bool(added)

    def _join(self, name: str, facts: Facts) -> None:
        """Completes a joint, whose items have ended, with their results."""
        joint = self.steps[name]
        joined, results = branching.join(joint, branching.items_of(joint, self.steps), facts)
        self.steps[name] = joined
        self._results[name] = strict_json(results)
        self._note(EventKind.STEP_COMPLETED, joined)
