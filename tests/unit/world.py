"""A world in memory: the rows, the requests, a remote service with its ledger, a supervisor, and a clock that moves
only when a test moves it.

Only the decisions are real: `OrderPass` (which calls `next_moves` and `next_compensation_moves`) and `rule_on`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hypothesis import strategies as st

from orders.engine.branches import Facts, declared_name, is_item
from orders.engine.contracts import Compensation, Remedy, Step, Workflow
from orders.engine.retry_rules import RetryRules
from orders.engine.rows import ReplyRow, StepRow
from orders.engine.scheduler.branching import NewItem
from orders.engine.scheduler.order_pass import ENDED, OrderPass
from orders.engine.supervisor.remedies import Ruling, rule_on
from tests.unit.rows import ME, NEW, NOW, process_row, reply_to, step_rows

RULES = RetryRules(threshold=3, compensation_patience=2)
COMPLETE_BY, SETTLE, CUSTOMER_WAIT, EXTENDED_WAIT = 30.0, 5.0, 60.0, 120.0
SOME_TURNS = 300
"""Turns of a world without faults; no order needs nearly as many."""

FINISHED = {"completed", "skipped"}


REVERSIBLE = (Compensation.REVERSE, Compensation.NONE)


def always(data: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """A condition that holds."""
    return True


def never(data: Mapping[str, Any], results: Mapping[str, Any]) -> bool:
    """A condition that does not hold."""
    return False


def some_items(number: int, data: Mapping[str, Any], results: Mapping[str, Any]) -> list[dict[str, int]]:
    """As many items."""
    return [{"item": item} for item in range(number)]


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    """Workflows of one to five steps, each after some of the earlier ones; some on a condition or for some items."""
    names = ["a", "b", "c", "d", "e"][: draw(st.integers(1, 5))]
    steps = []
    for number, name in enumerate(names):
        after = tuple(earlier for earlier in names[:number] if draw(st.booleans()))
        compensation = draw(
            st.sampled_from([*[Compensation.REVERSE] * 3, Compensation.NOTICE, Compensation.NONE])
        )
        remedy = draw(
            st.sampled_from(
                [Remedy(), Remedy(then="compensate"), Remedy(extended_waits=1, wait=EXTENDED_WAIT)]
            )
        )
        items = draw(st.sampled_from([*[None] * 4, 0, 1, 2])) if compensation in REVERSIBLE else None
        steps.append(
            Step(
                name=name,
                when=draw(st.sampled_from([None, None, always, never])),
                each=None if items is None else partial(some_items, items),
                agent="hand",
                operation=f"{name}-it",
                data=dict,
                after=after,
                complete_by=COMPLETE_BY,
                settle=SETTLE,
                customer_wait=CUSTOMER_WAIT,
                compensation=compensation,
                remedy=remedy,
            )
        )
    return Workflow(name="any", version=1, steps=tuple(steps))


@dataclass
class Call:
    """A sent request, until it is answered or can no longer land. `step` is the step when it was sent."""

    step: StepRow
    compensates: bool
    key: str
    reverses: str
    is_repeat: bool = False
    key_is_known: bool = True
    begun: bool = False


@dataclass
class World:
    """Everything besides the decisions. The remote has one duty: the effect of a key happens once."""

    workflow: Workflow
    now: datetime = NOW
    calls: list[Call] = field(default_factory=list)
    unread: list[ReplyRow] = field(default_factory=list)
    posted: list[ReplyRow] = field(default_factory=list)
    effects: set[str] = field(default_factory=set)
    performed: set[str] = field(default_factory=set)
    results: dict[str, Any] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    story: list[str] = field(default_factory=list)
    is_available: bool = True

    def __post_init__(self) -> None:
        self.row = process_row(workflow="any", version=1)
        self.steps = {step.name: step for step in step_rows({}, self.workflow)}

    @property
    def ended(self) -> bool:
        return self.row.process_state in ENDED

    # The scheduler

    def run_pass(self) -> None:
        order_pass = OrderPass(
            row=self.row, steps=list(self.steps.values()), workflow=self.workflow, instance=ME
        )
        unread, self.unread = self.unread, []
        for reply in unread:
            order_pass.take(reply, self.now)
        order_pass.turn(self.now)
        never_begun = {call.step.id for call in self.calls if not call.begun and not call.compensates}
        for step in order_pass.recallable():
            if step.id in never_begun:
                order_pass.recalled(step.id)
                self.calls = [call for call in self.calls if call.step.id != step.id]
        if order_pass.asks_facts():
            done = {name for name, step in self.steps.items() if step.state == "completed"}
            order_pass.facts = Facts({}, {name: self.results.get(name) for name in done})
        order_pass.advance(self.now, self.take_credit)
        self.story += [f"{event.kind} {event.step}" for event in order_pass.events]
        self.check_attempts_only_grow(order_pass)
        self.calls = [call for call in self.calls if call.begun or call.step.id not in order_pass.superseded]
        by_id = {step.id: step for step in order_pass.steps.values()}
        for request in order_pass.new_requests:
            step = by_id[request.step_id]
            if request.compensates:
                self.check_everything_after_it_is_compensated(step, order_pass.steps)
            else:
                self.check_everything_before_it_is_finished(step, order_pass.steps)
            self.calls.append(
                Call(
                    step,
                    request.compensates,
                    request.key,
                    request.reverses,
                    request.is_repeat,
                    request.key_is_known,
                )
            )
        for write in order_pass.step_writes():
            if write.result is not None:
                self.results[write.step.name] = json.loads(write.result)
        self.row, self.steps = order_pass.row, dict(order_pass.steps)
        for item in order_pass.new_items:
            self.add(item)
        self.check_what_is_in_flight_has_an_end()

    def add(self, item: NewItem) -> None:
        """Adds an item's step, as the state store does."""
        assert item.name not in self.steps, (item.name, self.story)
        self.steps[item.name] = NEW._replace(id=len(self.steps) + 1, name=item.name, agent=item.agent)

    def take_credit(self, agent: str, is_retry: bool) -> bool:
        """Whether a request may be sent."""
        return True

    # The agents and the remote

    def land(self, call: Call) -> None:
        """The remote does what the call requests, unless it has done or refused that before."""
        call.begun = True
        if call.compensates:
            self.effects.discard(call.reverses)
        elif call.key not in self.performed | self.refused:
            self.effects.add(call.key)
        if call.key not in self.refused:
            self.performed.add(call.key)

    def answer(self, call: Call, outcome: str) -> None:
        """The agent answers, if there is still time (A5). A repeated key gets its first answer again."""
        call.begun = True
        if outcome == "done":
            self.land(call)
        if outcome != "failed":  # otherwise the outcome is unknown, and the call may still land
            if call.key in self.performed:
                outcome = "done"
            elif outcome == "done":
                outcome = "refused"
            self.refused |= {call.key} - self.performed
            self.calls.remove(call)
        if self.now < call.step.complete_by:
            reply = reply_to(call.step, outcome, compensates=call.compensates, id=len(self.posted) + 1)
            self.posted.append(reply)
            self.unread.append(reply)

    # The supervisor

    def sweep(self) -> None:
        overdue = [step for step in self.steps.values() if step.complete_by and step.complete_by <= self.now]
        failed = False
        for step in overdue:
            ruling, after = rule_on(
                step,
                self.workflow.step_of(step.name),
                goal=self.row.goal,
                rules=RULES,
                now=self.now,
                jitter=float,
                is_available=self.is_available,
            )
            self.story.append(f"{ruling.name} {step.name}")
            assert after.attempt == step.attempt
            self.steps[step.name] = after
            failed |= ruling is Ruling.FAIL
            if ruling is Ruling.COMPENSATE:
                self.row = self.row._replace(goal="compensate")
        overran = self.row.process_state == "processing" and self.row.complete_by <= self.now
        if failed and not self.ended:
            self.row = self.row._replace(process_state="error", locked_by=None, not_before=None)
        elif (overdue or overran) and not self.ended:
            self.row = self.row._replace(process_state="pending", locked_by=None, not_before=None)

    # The clock

    def wait(self) -> None:
        """Moves on to the next moment at which anything is due; drops calls that can no longer land."""
        rows: list[Any] = [self.row, *self.steps.values()]
        moments = {moment for row in rows for moment in (row.complete_by, row.not_before) if moment}
        moments |= {step.settles_at for step in self.steps.values() if step.settles_at}
        later = [moment for moment in moments if moment > self.now]
        if later:
            self.now = min(later)
        self.calls = [
            call
            for call in self.calls
            if call.step.complete_by
            + timedelta(seconds=0 if call.compensates and call.key_is_known else SETTLE)
            > self.now
        ]

    # What must hold

    def check_attempts_only_grow(self, order_pass: OrderPass) -> None:
        requested = {request.step_id for request in order_pass.new_requests}
        for name, after in order_pass.steps.items():
            before = self.steps[name]
            parked = self.joins(after) and (before.attempt, after.attempt) == (0, 1)
            assert after.attempt == before.attempt + (after.id in requested or parked), (name, self.story)
            assert after.answered >= before.answered
            assert after.answered <= after.attempt

    def check_everything_before_it_is_finished(self, step: StepRow, steps: dict[str, StepRow]) -> None:
        for earlier in self.workflow.step_of(step.name).after:
            for row in steps.values():
                if declared_name(row.name) == earlier:
                    assert row.state in FINISHED, (step.name, row.name, self.story)

    def check_everything_after_it_is_compensated(self, step: StepRow, steps: dict[str, StepRow]) -> None:
        """Also checks that the step's own forward call can no longer land (rule 8)."""
        declared = self.workflow.step_of(step.name)
        assert declared.compensation is not Compensation.NONE, (step.name, self.story)
        assert not self.joins(step), (step.name, self.story)
        is_notice = declared.compensation is Compensation.NOTICE
        later = self.workflow.by_name if is_notice else self.workflow.dependents[declared.name]
        for name in steps:
            if name == step.name or declared_name(name) not in later:
                continue
            if self.workflow.step_of(name).compensation is Compensation.REVERSE:
                assert steps[name].key() not in self.effects, (step.name, name, self.story)
                assert not self.may_land(name), (step.name, name, self.story)
            assert steps[name].state != "running", (step.name, name, self.story)
        assert not self.may_land(step.name), (step.name, self.story)

    def joins(self, step: StepRow) -> bool:
        """Whether a step only joins its items."""
        return self.workflow.step_of(step.name).each is not None and not is_item(step.name)

    def runs(self, step: StepRow) -> bool:
        """Whether a step has an effect once the order is processed."""
        return not self.joins(step) and step.state == "completed"

    def check_branches(self) -> None:
        """Every branch of a processed order was decided as its workflow says."""
        for declared in self.workflow.steps:
            row = self.steps[declared.name]
            assert (row.state == "skipped") == (declared.when is never), (row.name, self.story)
            items = [name for name in self.steps if is_item(name) and declared_name(name) == row.name]
            if declared.each is not None and row.state == "completed":
                assert len(items) == len(declared.each({}, {})), (row.name, self.story)
                assert self.results[row.name] == [self.results[name] for name in items], self.story
            else:
                assert not items, (row.name, self.story)

    def may_land(self, name: str) -> bool:
        """Whether a forward call of this step is under way and its effect has not happened yet."""
        return any(
            call.step.name == name
            and call.begun
            and not call.compensates
            and call.key not in self.performed | self.refused
            for call in self.calls
        )

    def check_what_is_in_flight_has_an_end(self) -> None:
        for step in self.steps.values():
            assert (step.state == "running") <= (step.complete_by is not None), (step.name, self.story)
            if step.complete_by is not None:
                assert step.state in ("running", "compensating"), (step.name, self.story)
        if self.row.process_state == "processing":
            assert self.row.locked_by == ME
            assert self.row.complete_by is not None
        else:
            assert self.row.locked_by is None
