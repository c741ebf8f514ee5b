"""How an order moves to a newer version of its workflow: what a business declares, and pure decisions.

An order finishes on the version that it started with (rule 10), unless an operator moves it. That is safe as long as
what has happened, or may have, keeps its name, its key and its compensation. What nothing has been done for is free.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from orders.engine import parking
from orders.engine.branches import declared_name, is_item
from orders.engine.contracts import Json, Step, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.rows import ProcessRow, StepRow
from orders.vocabulary import Goal, Outcome, StepStatus

FINISHED = (StepStatus.COMPLETED.value, StepStatus.SKIPPED.value)
UNDER_WAY = (StepStatus.RUNNING.value, StepStatus.COMPENSATING.value)
HAS_BEGUN = (Outcome.DONE.value, Outcome.UNKNOWN.value)
"""The outcomes of a step whose effect has happened, or may have. After any other, it is known that it has not."""
MAY_DIFFER = ("after", "needs", "remedy", "when")
"""What of a step's definition a newer version may change although the step has begun: what comes before and after, and
whether it would have begun."""
LONGEST_ERROR = 80
"""Characters shown of an error that a business's own code has raised."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """Lets unfinished orders go on with a later version of their workflow.

    A step that both versions have stays the same step, and a step that only the later one has is started in its turn.
    `steps` says what becomes of every other step: its name in the later version, or None if it is dropped.
    """

    from_version: int
    to_version: int
    steps: Mapping[str, str | None] = field(default_factory=dict)

    def name_of(self, step: str) -> str | None:
        """What the later version calls a step of the earlier one; None if it is dropped."""
        return self.steps.get(step, step)


class Obstacle(NamedTuple):
    """Why an order cannot move. One that `passes` may be gone later; any other order finishes on its version."""

    reason: str
    passes: bool = False


class PlacedStep(NamedTuple):
    """A step as the later version has it.

    `stored` is its row if the order has it already. Without a `request` the row keeps its own; with one it keeps the
    `kept_fields` of its own.
    """

    name: str
    agent: str
    position: int
    stored: StepRow | None = None
    request: Json | None = None
    awaits_until: datetime | None = None
    kept_fields: tuple[str, ...] = ()


class Transfer(NamedTuple):
    """What moving an order changes: every step that it has afterwards, and the rows that it has no longer."""

    steps: Sequence[PlacedStep]
    dropped: Sequence[StepRow]


class Changes(NamedTuple):
    """What a move does to the steps of any order, by name. `renamed` are pairs of the old name and the new one."""

    same: Sequence[str]
    renamed: Sequence[tuple[str, str]]
    dropped: Sequence[str]
    added: Sequence[str]


class Journey(NamedTuple):
    """A declared move, and the version that it leads from and the one that it leads to."""

    move: Move
    old: Workflow
    new: Workflow

    @property
    def changes(self) -> Changes:
        """What the move does to the steps."""
        targets = {self.move.name_of(step) for step in self.old.by_name}
        return Changes(
            same=[step for step in self.old.by_name if step in self.new.by_name],
            renamed=[(step, target) for step, target in self.move.steps.items() if target is not None],
            dropped=[step for step, target in self.move.steps.items() if target is None],
            added=[step for step in self.new.by_name if step not in targets],
        )


def check_move(move: Move, versions: Mapping[int, Workflow], name: str) -> None:
    """Raises `WorkflowError` if no order of these versions of the workflow could ever move like this."""
    title = f"{name}: the move from version {move.from_version} to {move.to_version}"
    if missing := {move.from_version, move.to_version} - versions.keys():
        raise WorkflowError(f"{title} needs version {min(missing)}, which is not declared")
    if move.from_version >= move.to_version:
        raise WorkflowError(f"{title} must lead to a later version")
    old, new = versions[move.from_version].by_name, versions[move.to_version].by_name
    for step, target in move.steps.items():
        if step not in old:
            raise WorkflowError(f"{title} names the step {step!r}, which version {move.from_version} lacks")
        if step in new:
            raise WorkflowError(f"{title} names the step {step!r}, which both versions have")
        if target is not None and (target not in new or target in old):
            raise WorkflowError(
                f"{title} makes {step!r} {target!r}, which is no new step of the later version"
            )
    if unsaid := [step for step in old if step not in new and step not in move.steps]:
        raise WorkflowError(f"{title} must say what becomes of {', '.join(unsaid)}: a new name, or None")
    targets = [target for target in move.steps.values() if target is not None]
    if len(set(targets)) < len(targets):
        raise WorkflowError(f"{title} makes two steps the same")


def plan_move(row: ProcessRow, steps: Sequence[StepRow], data: Json, journey: Journey) -> Transfer | Obstacle:
    """Decides what becomes of each step of an order, or why the order stays on its version.

    `data` are what the order was placed with, for the requests of the steps that have not begun.
    """
    move, old, new = journey
    names = {declared_name(step.name) for step in steps}
    if names != old.by_name.keys():
        return Obstacle(f"its steps are not those of version {old.version}")
    obstacles = list(_obstacles(row, steps, journey))
    if obstacles:
        return min(obstacles, key=lambda obstacle: obstacle.passes)
    rows = {move.name_of(step.name): step for step in steps}
    placed = []
    for position, declared in enumerate(new.steps):
        try:
            placed.append(_place(declared, position, rows.get(declared.name), data, old))
        except Exception as error:  # noqa: BLE001 - the business's own code, on an order of another version
            message = f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
            return Obstacle(f"the data of step {declared.name} cannot be read from it: {message}")
        placed += [
            PlacedStep(step.name, step.agent, position, step)
            for step in steps
            if is_item(step.name) and declared_name(step.name) == declared.name
        ]
    placed_ids = {step.stored.id for step in placed if step.stored is not None}
    return Transfer(placed, [step for step in steps if step.id not in placed_ids])


def _place(declared: Step, position: int, stored: StepRow | None, data: Json, old: Workflow) -> PlacedStep:
    """A step as the later version has it. What it asks for is made anew while it is known that nothing was done.

    A customer may have changed her own fields since the order was placed, so once it was tried those are kept.
    """
    place = PlacedStep(declared.name, declared.own_agent, position, stored)
    if stored is not None and not _is_free(stored):
        return place
    request = declared.data(data)
    was_tried = stored is not None and stored.attempt > 0
    return place._replace(
        request=request,
        awaits_until=parking.fixed_moment(declared, request),
        kept_fields=old.by_name[stored.name].customer_editable if stored is not None and was_tried else (),
    )


def _is_free(step: StepRow) -> bool:
    """Whether nothing was done for a step that is still to be done."""
    return step.outcome not in HAS_BEGUN and step.state not in (*FINISHED, StepStatus.AWAITING)


def _goes_on_waiting(step: StepRow, journey: Journey) -> bool:
    """Whether a step that waits for something other than its agent may wait on: whoever answers names it as before."""
    is_wait = journey.old.step_of(step.name).waits_for is not None
    return is_wait and journey.move.name_of(step.name) == step.name


def _obstacles(row: ProcessRow, steps: Sequence[StepRow], journey: Journey) -> Iterator[Obstacle]:
    if row.goal == Goal.COMPENSATE:
        yield Obstacle("it is being cancelled")
    for step in steps:
        if step.state == StepStatus.AWAITING and not _goes_on_waiting(step, journey):
            yield Obstacle(f"step {declared_name(step.name)} waits for an answer or a time", passes=True)
        elif step.state in UNDER_WAY or (step.complete_by is not None and step.state != StepStatus.AWAITING):
            yield Obstacle(f"step {declared_name(step.name)} is under way", passes=True)
        if step.outcome in HAS_BEGUN or step.state == StepStatus.AWAITING or is_item(step.name):
            yield from _changes_of_begun(declared_name(step.name), journey)
    rows = {target: step for step in steps if (target := journey.move.name_of(step.name)) is not None}
    for declared in journey.new.steps:
        yield from _disorder(declared, rows, journey)


def _changes_of_begun(step: str, journey: Journey) -> Iterator[Obstacle]:
    """Why a step that has begun cannot be a step of the later version.

    Its remote service knows it by its name, and its compensation must fit what was done. A wait has no such effect.
    """
    move, old, new = journey
    target, is_wait = move.name_of(step), old.by_name[step].waits_for is not None
    if target is None:
        if not is_wait:
            yield Obstacle(f"step {step} has begun, and version {new.version} drops it")
        return
    if target != step and not is_wait:
        yield Obstacle(f"step {step} has begun, and version {new.version} calls it {target}")
    before, after = (_bound(workflow, name) for workflow, name in ((old, step), (new, target)))
    differing = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if differing:
        verb = "differs" if len(differing) == 1 else "differ"
        names = " and ".join("wait" if name == "waits_for" else name for name in differing)
        yield Obstacle(f"step {step} has begun, and its {names} {verb} in version {new.version}")


def _bound(workflow: Workflow, step: str) -> dict[str, Any]:
    return {name: value for name, value in workflow.definition[step].items() if name not in MAY_DIFFER}


def _disorder(declared: Step, rows: Mapping[str, StepRow], journey: Journey) -> Iterator[Obstacle]:
    """Why a step would have begun too early in the later version, or would lack a result that it needs there."""
    row = rows.get(declared.name)
    if row is not None and (row.outcome in HAS_BEGUN or row.state == StepStatus.AWAITING):
        for earlier in declared.after:
            if earlier not in rows or rows[earlier].state not in FINISHED:
                reason = f"step {row.name} has begun, and in version {journey.new.version} it comes after {earlier}"
                yield Obstacle(reason, passes=earlier in rows)
    if row is not None and row.state in FINISHED:
        return
    needed = journey.old.by_name[row.name].needs if row is not None else ()
    for need in declared.needs:
        source = rows.get(need)
        if source is not None and source.state == StepStatus.SKIPPED and source.name not in needed:
            yield Obstacle(f"step {declared.name} needs the result of {source.name}, which was skipped")
