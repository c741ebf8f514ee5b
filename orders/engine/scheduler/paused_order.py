"""An order that an operator has paused, or a step of its workflow, during one pass of the scheduler. See docs/adr/0065
and docs/adr/0067.

A pause is in a row. Everybody may write to a paused order: replies, callbacks and an operator's acts are recorded as
ever. It is the scheduler that starts nothing, and it is the only one that starts anything.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from orders.engine.branches import declared_name
from orders.engine.contracts import Workflow
from orders.engine.rows import REST, ProcessRow, StepRow
from orders.engine.scheduler.branched_order import BranchedOrder
from orders.vocabulary import EventKind, Goal, ProcessState


class PausedOrder(BranchedOrder):
    """`rests` says whether the order is paused. It is right once `_end_pause` has looked at the time.

    `paused_steps` are the steps of its workflow that are paused, each with the time at which its pause ends by itself.
    """

    def __init__(
        self, *, row: ProcessRow, steps: Sequence[StepRow], workflow: Workflow, instance: str
    ) -> None:
        super().__init__(row=row, steps=steps, workflow=workflow, instance=instance)
        self.paused_steps: Mapping[str, datetime | None] = {}
        self._held: set[str] = set()

    @property
    def rests(self) -> bool:
        """Whether nothing may be started. A pause is over once the order is to be compensated."""
        return self.row.paused_at is not None and self.row.goal == Goal.COMPLETE

    def _is_held(self, step: StepRow) -> bool:
        """Whether no call of the step may begin. What reverses one is not held back."""
        return not step.goes_back(self.row.goal) and declared_name(step.name) in self.paused_steps

    def _hold_back(self, step: StepRow, now: datetime) -> datetime:
        """Makes a step whose turn has come wait until it is paused no more. Returns when to look at it again.

        Whoever resumes the step has its orders looked at before. The patience of the step begins anew then.
        """
        until = self.paused_steps[declared_name(step.name)]
        if step.paused_since is None:
            self._note(EventKind.PAUSED, step, until=until)
        self._held.add(step.name)
        since = step.paused_since or now
        self.steps[step.name] = step._replace(paused_since=since, waiting_since=None, wanted_since=None)
        return until or now + REST

    def _end_pause(self, now: datetime) -> None:
        """Ends a pause whose time is over. The complete-by of an order under way moves by as long as it lasted."""
        self._end_pauses_of_steps(now)
        row = self.row
        if row.paused_at is None or row.is_paused(now):
            return
        self.row = row._replace(paused_at=None, paused_until=None)
        self._extend(row.paused_at, now)
        self._note(EventKind.RESUMED, None, until=row.paused_until)

    def _end_pauses_of_steps(self, now: datetime) -> None:
        """Lets go of the steps that are paused no more."""
        over = [step for step in self.steps.values() if step.paused_since and not self._is_held(step)]
        for step in over:
            self.steps[step.name] = step._replace(paused_since=None)
        if over and not self.rests:
            self._extend(min(step.paused_since for step in over if step.paused_since), now)

    def _extend(self, since: datetime, now: datetime) -> None:
        if self.row.process_state == ProcessState.PROCESSING and self.row.complete_by is not None:
            self.row = self.row._replace(complete_by=self.row.complete_by + (now - since))
