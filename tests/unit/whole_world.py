"""The world in memory with all that can go wrong round one order, for the state machines of orders.

Agents are unavailable for a while, the remote service forgets its keys in the end, and each pass is checked for what
must hold at any time.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from orders.engine import reversing
from orders.engine.contracts import Compensation
from orders.engine.rows import StepRow
from orders.services.order_lock import reset_step
from tests.unit.rows import NEW, reply_to
from tests.unit.world import COMPLETE_BY, RULES, SETTLE, Call, World

PATIENCE = 400.0
KEY_RETENTION = 900.0


@dataclass
class WholeWorld(World):
    """The world with agents that are unavailable for a while, and a remote that forgets its keys in the end."""

    credit: int | None = None
    """How many requests may still be sent; None is no limit."""
    sent: dict[str, datetime] = field(default_factory=dict)
    found_done: set[int] = field(default_factory=set)
    """The ids of the calls that were not made, because the remote service said that they were done."""
    landed: set[int] = field(default_factory=set)
    """The ids of the calls that had their effect at a service that did not recognise their keys."""
    grants: int = 0
    """How often a deferral or an operator, rather than the engine's own rules, allowed another attempt."""

    def take_credit(self, agent: str, is_retry: bool) -> bool:
        if not self.is_available or self.credit == 0:
            return False
        if self.credit is not None:
            self.credit -= 1
        return True

    def run_pass(self) -> None:
        waiting = {name for name, step in self.steps.items() if step.waiting_since is not None}
        failures = self._failures()
        before = dict(self.steps)
        super().run_pass()
        assert self._failures() <= failures + len(self.posted)
        for name in waiting:
            assert self.steps[name].failure_count <= before[name].failure_count, self.story
        for call in self.calls:
            self.sent.setdefault(call.key, self.now)
        self.check_nothing_is_doubled()
        self.check_only_what_may_be_done_is_reversed()
        self.check_what_waits_is_looked_at_again()
        self.check_keys_are_given_up_only_when_they_may_be_forgotten(before)

    def sweep(self) -> None:
        before = dict(self.steps)
        super().sweep()
        for name, step in self.steps.items():
            if not self.is_available and before[name].complete_by and self.row.goal == "complete":
                assert step.failure_count == before[name].failure_count, (name, self.story)
            if self.row.process_state == "error":
                self.steps[name] = step._replace(waiting_since=None)

    def land(self, call: Call) -> None:
        """P2: no call lands so long after its key was first sent that the remote might repeat the effect.

        A remote that can be asked does so, and it repeats what it does not recognise.
        """
        self.begin(call)
        declared = self.workflow.step_of(call.step.name)
        age = self.now - self.sent.get(call.key, self.now)
        if not declared.can_be_asked:
            assert age <= timedelta(seconds=KEY_RETENTION), (call.key, self.story)
        if declared.key_retention and age <= timedelta(seconds=declared.key_retention):
            super().land(call)
        elif id(call) not in self.found_done | self.landed:
            assert call.key not in self.performed, ("done twice", call.key, self.story)
            self.landed.add(id(call))
            self.performed.add(call.key)
            (self.effects.discard if call.compensates else self.effects.add)(call.reverses or call.key)
        self.check_nothing_is_doubled()

    def begin(self, call: Call) -> None:
        """A host takes the request, and asks about it if it must."""
        if not call.begun and call.is_repeat and not call.key_is_known and call.key in self.performed:
            self.found_done.add(id(call))
        call.begun = True

    def answer(self, call: Call, outcome: str) -> None:
        self.begin(call)
        super().answer(call, "done" if id(call) in self.found_done else outcome)

    def defer(self, call: Call, *, was_called: bool) -> None:
        """The host hands the request back.

        After a failed call, or if an earlier host may have called before it died, the call may still land.
        """
        was_called = was_called or call.begun
        call.begun = True
        if not was_called:
            self.calls.remove(call)
        self.grants += 1
        if self.now < call.step.complete_by:
            reply = reply_to(
                call.step,
                "deferred",
                compensates=call.compensates,
                id=len(self.posted) + 1,
                calls=int(was_called),
            )
            self.posted.append(reply)
            self.unread.append(reply)

    def resubmit(self) -> None:
        """Does what an operator does: see `orders.services.order_changes.resubmit_order`."""
        for name, step in self.steps.items():
            if step.state == "failed":
                self.steps[name] = reset_step(step, self.row.goal)
        self.grants += 2 * RULES.threshold * (1 + RULES.compensation_patience)
        self.row = self.row._replace(
            process_state="pending", locked_by=None, not_before=None, complete_by=None, overruns=0
        )

    def correct(self, *, reverse: bool) -> None:
        """Does what an operator does who edits the order: see `orders.services.operators.order_editing`.

        Every step that may have been done is reversed first, if she wants that and it is possible.
        """
        for name, step in self.steps.items():
            declared = self.workflow.step_of(name)
            may_be_done = step.state == "failed" and step.outcome == "unknown"
            if step.is_reversed_first:
                self.steps[name] = step._replace(next_request={"edit": len(self.story)})
            elif reverse and may_be_done and not reversing.why_not_reversed(declared, step.sent_at, self.now):
                self.steps[name] = step._replace(
                    next_request={"edit": len(self.story)}, answered=step.attempt
                )
        if self.row.process_state == "error":
            self.resubmit()

    def check_nothing_is_doubled(self) -> None:
        """P2: whatever is reversed and done anew, no step has two effects at any time."""
        for name, step in self.steps.items():
            own = {key for key in self.effects if key.startswith(f"{step.order_id}/{name}/")}
            assert len(own) <= 1, (own, self.story)

    def check_only_what_may_be_done_is_reversed(self) -> None:
        """The database refuses anything else."""
        for step in self.steps.values():
            if step.is_reversed_first:
                assert step.state in ("failed", "compensating", "awaiting"), (step, self.story)
                assert step.outcome == "unknown", (step, self.story)

    def _failures(self) -> int:
        return sum(step.failure_count + step.compensation_failure_count for step in self.steps.values())

    def check_what_waits_is_looked_at_again(self) -> None:
        """I7: a step that waits for its agent has no complete-by and no request, and its patience will end."""
        for step in self.steps.values():
            if step.waiting_since is not None:
                assert step.complete_by is None, (step.name, self.story)
                assert step.state != "running", (step.name, self.story)
                assert not self.ended, (step.name, self.story)
                assert self.row.not_before is not None, (step.name, self.story)
                assert self.row.not_before <= step.waiting_since + timedelta(seconds=PATIENCE), self.story

    def check_keys_are_given_up_only_when_they_may_be_forgotten(self, before: dict[str, StepRow]) -> None:
        for name, step in self.steps.items():
            has_expired = step.error is not None and step.error.get("code") == "key_expired"
            if has_expired and step.state == "failed" != before.get(name, NEW).state:
                assert not self.workflow.step_of(name).can_be_asked, (name, self.story)
                key = step.compensation_key() if self.row.goal == "compensate" else step.key()
                sent = self.sent.get(key)
                assert sent is not None, (name, self.story)
                assert self.now - sent > timedelta(seconds=KEY_RETENTION - COMPLETE_BY - SETTLE), self.story

    def check_the_end(self) -> None:
        """I2, I8: the remote's effects match the state, and nothing was tried more often than allowed."""
        for name, step in self.steps.items():
            compensation = self.workflow.step_of(name).compensation
            own_effects = {key for key in self.effects if key.startswith(f"{step.order_id}/{name}/")}
            assert len(own_effects) <= 1, (name, self.story)
            if self.row.process_state == "processed":
                assert own_effects == ({step.key()} if self.runs(step) else set()), (name, self.story)
                self.check_branches()
            elif self.row.process_state == "compensated":
                assert compensation is not Compensation.REVERSE or not own_effects, (name, self.story)
            most = (
                RULES.threshold * (1 + RULES.compensation_patience)
                + self.workflow.step_of(name).remedy.extended_waits
            )
            assert step.attempt <= most + self.grants, (name, self.story)
        if self.row.process_state == "error":
            assert any(step.state == "failed" for step in self.steps.values()), self.story
