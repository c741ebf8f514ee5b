"""An order that an operator has paused, during one pass of the scheduler. See docs/adr/0065.

A pause is in the order's row. Everybody may write to a paused order: replies, callbacks and an operator's acts are
recorded as ever. It is the scheduler that starts nothing, and it is the only one that starts anything.
"""

from datetime import datetime

from orders.engine.scheduler.branched_order import BranchedOrder
from orders.vocabulary import EventKind, Goal, ProcessState


class PausedOrder(BranchedOrder):
    """`rests` says whether the order is paused. It is right once `_end_pause` has looked at the time."""

    @property
    def rests(self) -> bool:
        """Whether nothing may be started. A pause is over once the order is to be compensated."""
        return self.row.paused_at is not None and self.row.goal == Goal.COMPLETE

    def _end_pause(self, now: datetime) -> None:
        """Ends a pause whose time is over. The complete-by of an order under way moves by as long as it lasted."""
        row = self.row
        if row.paused_at is None or row.is_paused(now):
            return
        self.row = row._replace(paused_at=None, paused_until=None)
        if row.process_state == ProcessState.PROCESSING and row.complete_by is not None:
            self.row = self.row._replace(complete_by=row.complete_by + (now - row.paused_at))
        self._note(EventKind.RESUMED, None, until=row.paused_until)
