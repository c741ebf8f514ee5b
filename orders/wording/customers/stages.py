"""The few plain stages of an order that its customer sees, with their times.

Nothing that was done vanishes, and nothing is called done that is not: a stage of several steps is shown as its parts
while these do not stand alike, and what was reversed stays, marked as reversed. What is done comes first, in the
order of its times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from orders.business.editing import customer_words, newest_steps
from orders.business.words import StageWords, Words
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.refusals import is_declined
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import ProcessState, StepStatus
from orders.wording.customers.saying import say
from orders.wording.customers.situations import FINISHED, is_held, is_under_way, retried_steps
from orders.wording.customers.times import done_at

ICONS = {
    "done": "check",
    "now": "running",
    "wait": "pause",
    "retry": "retry",
    "stop": "warning",
    "later": "clock",
    "skipped": "cross",
    "reversed": "undo",
}
STATES: Mapping[str, Words] = {
    "done": _("done"),
    "now": _("in progress"),
    "wait": _("waiting"),
    "retry": _("trying again"),
    "stop": _("held up"),
    "later": _("to come"),
    "skipped": _("not needed"),
    "reversed": _("reversed later"),
}
WAITS_FOR_CUSTOMER: Words = _("waiting for you")
PAST = frozenset({"done", "reversed"})
"""The states of what has happened, which has a time."""
UNLIKE = frozenset({"stop", "wait", "skipped", "retry"})
"""The states of a part that are not said of its whole stage unless all its parts are in them."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage as a page shows it. `state` is one of `STATES`; `at` is when it was done, also if it was reversed since.
    `note` says more of what is not done than the word for its state."""

    title: str
    state: str
    at: datetime | None = None
    note: str = ""

    @property
    def icon(self) -> str:
        """The icon of its state."""
        return ICONS[self.state]

    @property
    def word(self) -> str:
        """The word for its state."""
        return self.note or str(STATES[self.state])


@dataclass(frozen=True, kw_only=True)
class Group:
    """The steps of an order that one stage stands for. Before the order is inserted it has none."""

    words: StageWords
    steps: Sequence[CustomerStep]


def placed_stage(order: CustomerOrder) -> Stage:
    """The first stage of every order."""
    return Stage(title=say(customer_words(order.workflow).placed, order), state="done", at=order.placed_at)


def forward_stages(order: CustomerOrder, occurrences: Occurrences) -> list[Stage]:
    """The stages of an order on its way forward, in the order of their first steps. Before an order is inserted, those
    of the steps that it will have."""
    stages = [stage for group in groups(order) for stage in _stages_of(group, order, occurrences)]
    return in_order_of_time([placed_stage(order), *stages])


def in_order_of_time(stages: Sequence[Stage]) -> list[Stage]:
    """What has happened, the earliest first, and then the rest. What has no time stays behind what it came after.

    An order was placed before all else: if a clock says otherwise, as that of another machine may, it is corrected.
    """
    placed, *others = stages
    times = [stage.at for stage in others if stage.at]
    first = replace(placed, at=min([placed.at, *times])) if placed.at else placed
    passed: list[tuple[datetime | None, Stage]] = []
    for stage in others:
        if stage.state in PAST:
            passed.append((stage.at or (passed[-1][0] if passed else first.at), stage))
    if all(at for at, _ in passed):
        passed.sort(key=lambda pair: pair[0])  # type: ignore[arg-type, return-value]
    return [first, *(stage for _, stage in passed), *(stage for stage in others if stage.state not in PAST)]


def groups(order: CustomerOrder) -> list[Group]:
    """The order's steps by the stages that stand for them."""
    own = customer_words(order.workflow)
    by_step = {name: words for words in own.stages for name in words.steps}
    steps = [(declared_name(step.name), [step]) for step in order.steps]
    members: dict[str, tuple[StageWords, list[CustomerStep]]] = {}
    for name, rows in steps or [(name, []) for name in newest_steps(order.workflow)]:
        if name in by_step or own.shows_other_steps:
            title = name.replace("-", " ").capitalize()
            words = by_step.get(name) or StageWords(title=title, steps=(name,))
            members.setdefault(str(words.steps), (words, []))[1].extend(rows)
    return [Group(words=words, steps=rows) for words, rows in members.values()]


def parts_of(group: Group) -> list[Group]:
    """The parts that a group of steps consists of; none if it has no words for them."""
    return [
        Group(words=part, steps=[step for step in group.steps if declared_name(step.name) in part.steps])
        for part in group.words.parts
    ]


def waiting_note(step: CustomerStep, order: CustomerOrder) -> str:
    """What is said of the stage of a step while what does it cannot be used; empty if its kind has no words for it."""
    stages = customer_words(order.workflow).stages
    named = [
        part for stage in stages for part in (*stage.parts, stage) if declared_name(step.name) in part.steps
    ]
    return next((say(part.waiting, order) for part in named if part.waiting), "")


def _stages_of(group: Group, order: CustomerOrder, occurrences: Occurrences) -> list[Stage]:
    """One stage, or those of its parts if they do not stand alike."""
    parts = [_stage(part, order, occurrences) for part in parts_of(group) if part.steps]
    states = {(part.state, part.note) for part in parts}
    is_split = len(states) > 1 and any(state in UNLIKE for state, _ in states)
    return parts if is_split else [_stage(group, order, occurrences)]


def _stage(group: Group, order: CustomerOrder, occurrences: Occurrences) -> Stage:
    steps, words = group.steps, group.words
    state = _state_of(steps, order, occurrences)
    note = ""
    if state == "wait" and (held := next((step for step in steps if is_held(step)), None)):
        note = waiting_note(held, order)
    elif state == "stop" and order.state != ProcessState.ERROR and any(map(is_declined, steps)):
        note = str(WAITS_FOR_CUSTOMER)
    title = words.title if state == "done" else words.ahead or words.title
    times = [
        at for step in steps if step.state == StepStatus.COMPLETED and (at := done_at(step, occurrences))
    ]
    return Stage(
        title=say(title, order),
        state=state,
        at=max(times, default=None) if state == "done" else None,
        note=note,
    )


def _state_of(steps: Sequence[CustomerStep], order: CustomerOrder, occurrences: Occurrences) -> str:
    is_open, retried = order.state != ProcessState.ERROR, retried_steps(order, occurrences)
    if steps and all(step.state in FINISHED for step in steps):
        return "done" if any(step.state == StepStatus.COMPLETED for step in steps) else "skipped"
    if any(step.state == StepStatus.FAILED for step in steps):
        return "stop"
    if order.pause and any(step.attempts for step in steps) and not any(map(is_under_way, steps)):
        return "wait"
    if any(step.name in retried for step in steps):
        return "retry" if is_open else "stop"
    if any(is_under_way(step) or (step.is_backward and not is_held(step)) for step in steps):
        return "now"
    if any(step.awaits or is_held(step) for step in steps):
        return "wait"
    return "now" if is_open and any(step.attempts for step in steps) else "later"
