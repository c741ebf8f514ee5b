"""What an edit of an order's fields changes: its data, its profile, and what each of its steps asks for. Pure, but for
what a kind looks up when a customer corrects her order.

What a step that is still to be done asks for is made anew. One that has begun keeps what it asked for, and so does
money that was reserved or taken. Everything is compared as this release computes it from the data before and after, so
what the edit does not touch stays as it is stored, whatever an earlier release has made of it.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import DatabaseError

from orders.business import registry, renewals
from orders.business.intake import check_profile
from orders.business.kinds import OrderKind, Profile
from orders.business.reading import BadOrderError, read_each
from orders.engine import parking, reversing
from orders.engine.branches import Facts, declared_name, is_item, items_of
from orders.engine.contracts import Json, Step, Workflow
from orders.engine.moving import HAS_BEGUN, LONGEST_ERROR
from orders.engine.runtime.text import keepable_json, strict_json
from orders.fields.money import Money
from orders.vocabulary import Outcome, StepStatus

OPEN = (StepStatus.NOT_STARTED.value, StepStatus.FAILED.value)
"""The states of a step that is still to be done."""


class CannotEditError(ValueError):
    """Raised when an order cannot be edited like this. Its text says why and what to do, for an operator."""


class ReversalNeededError(CannotEditError):
    """Raised when an order can be edited like this only if `steps`, which may have been done, are reversed first."""

    def __init__(self, steps: Sequence[str]) -> None:
        self.steps = steps
        are = "was" if len(steps) == 1 else "were"
        super().__init__(
            f"It is unknown whether {' and '.join(steps)} {are} done. Settle it first, or edit the order and "
            "have what may have been done reversed first."
        )


class UnreadableDataError(CannotEditError):
    """Raised when this release cannot make anything of an order's data, whatever is edited."""


class StoredOrder(NamedTuple):
    """What an edit starts from, as it is at `read_at`. `results` are those of the completed steps, by their names."""

    workflow: str
    version: int
    data: Json
    placed_at: datetime
    steps: "Sequence[StoredStep]"
    results: Json
    read_at: datetime


class StoredStep(NamedTuple):
    """A step as it is stored. With a `next_request` it is being reversed, and asks for that afterwards."""

    name: str
    state: str
    outcome: str
    request: Json
    next_request: Json | None
    sent_at: datetime | None


class FieldChange(NamedTuple):
    """A field that the edit changes."""

    name: str
    before: Any
    after: Any


class Following(NamedTuple):
    """A step that asks for something else after the edit: its whole request. A delay may then last until another time,
    `awaits_until`. What a step that `is_reversed_first` may have done is reversed before it asks for that."""

    step: str
    before: Json
    after: Json
    awaits_until: datetime | None
    is_reversed_first: bool = False


class Staying(NamedTuple):
    """A step that the edit comes too late for. `request` is the part of its request that would be different."""

    step: str
    state: str
    outcome: str
    request: Json


@dataclass(frozen=True, kw_only=True)
class OrderEdit:
    """What an edit changes. `profiles` are what people see of the order before and after."""

    kind: type[OrderKind]
    fields: Sequence[FieldChange]
    data: Json
    profiles: tuple[Profile, Profile]
    following: Sequence[Following]
    staying: Sequence[Staying]

    @property
    def reversed_first(self) -> list[str]:
        """The steps that are reversed before they ask for the new values."""
        return [step.step for step in self.following if step.is_reversed_first]

    @property
    def before(self) -> dict[str, Any]:
        """The former values of the fields that change."""
        return {field.name: field.before for field in self.fields}

    @property
    def after(self) -> dict[str, Any]:
        """Their new values."""
        return {field.name: field.after for field in self.fields}


def plan_edit(
    order: StoredOrder,
    changes: Mapping[str, Any],
    *,
    reverse: Collection[str] = (),
    by_customer: bool = False,
) -> OrderEdit:
    """Says what new values of fields would change, if what the steps in `reverse` may have done is reversed first.

    A correction `by_customer` names no steps: what she cannot know of is reversed where that is safe (`renewals`).

    Raises `BadOrderError` for a value that an order of this kind could not have been placed with, and `CannotEditError`
    if the order cannot be edited like this now.
    """
    kind = registry.find_kind(order.workflow)
    workflow = registry.workflows().get((order.workflow, order.version))
    if kind is None or workflow is None:
        raise UnreadableDataError(
            f"This release has no workflow {order.workflow!r} in version {order.version}."
        )
    new = read_each(kind.read_field, changes)
    data = _edited(kind.correct if by_customer else kind.edit, kind, order.data, new)
    if by_customer:
        reverse = renewals.renewed(order.steps, workflow, order.read_at)
    profiles = _profiles(kind, order, data)
    edit = OrderEdit(
        kind=kind,
        fields=[
            FieldChange(name, order.data.get(name), data.get(name))
            for name in new
            if order.data.get(name) != data.get(name)
        ],
        data=data,
        profiles=profiles,
        following=list(_following(order, workflow, data, reverse)),
        staying=list(_staying(order, workflow, data, reverse)),
    )
    _check_known(edit, order, workflow)
    if not by_customer:
        _check_reversed(edit, order, reverse)
    _check_money(edit, order, workflow)
    return edit


def _edited(edit: Callable[[Json, Json], Json], kind: type[OrderKind], stored: Json, new: Json) -> Json:
    """The order's data with these new values, as strictly read as a new order's.

    What this release does not read stays as it is stored: the steps of an earlier version may need it.
    """
    try:
        present = _as_stored(kind.read(stored))
    except Exception as error:
        raise UnreadableDataError(f"This release cannot read the order’s data: {_short(error)}.") from error
    try:
        read = _as_stored(kind.read(edit(stored, new)))
    except (BadOrderError, DatabaseError):
        raise
    except Exception as error:
        raise CannotEditError(f"The order cannot be edited like this: {_short(error)}.") from error
    return patched(stored, present, read)


def patched(stored: Json, before: Json, after: Json) -> Json:
    """`stored` with what differs between `before` and `after`."""
    same = {name: value for name, value in stored.items() if name in after or name not in before}
    return same | {
        name: value for name, value in after.items() if name not in before or before[name] != value
    }


def _profiles(kind: type[OrderKind], order: StoredOrder, data: Json) -> tuple[Profile, Profile]:
    try:
        before, after = (kind.profile(each, placed_at=order.placed_at) for each in (order.data, data))
    except Exception as error:
        raise UnreadableDataError(
            f"What people see of the order cannot be read from its data: {_short(error)}."
        ) from error
    check_profile(after)
    return before, after


def _following(
    order: StoredOrder, workflow: Workflow, data: Json, reverse: Collection[str]
) -> Iterator[Following]:
    for step, declared, before, after in _affected(order, workflow, data):
        if _is_to_be_done(step):
            request = patched(step.request, before, after)
            if request != step.request:
                moment = parking.fixed_moment(declared, request)
                yield Following(step.name, step.request, request, moment)
        elif step.next_request is not None or _is_to_be_reversed(step, declared, order, reverse):
            present = step.request if step.next_request is None else step.next_request
            request = patched(present, before, after)
            yield Following(step.name, present, request, None, is_reversed_first=True)


def _staying(
    order: StoredOrder, workflow: Workflow, data: Json, reverse: Collection[str]
) -> Iterator[Staying]:
    for step, declared, before, after in _affected(order, workflow, data):
        follows = _is_to_be_done(step) or step.next_request is not None
        follows = follows or _is_to_be_reversed(step, declared, order, reverse)
        if not follows and step.state != StepStatus.SKIPPED:
            differing = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            request = {name: step.request.get(name, before.get(name)) for name in differing}
            yield Staying(step.name, step.state, step.outcome, request)


def _affected(
    order: StoredOrder, workflow: Workflow, data: Json
) -> Iterator[tuple[StoredStep, Step, Json, Json]]:
    """The steps whose data differ, with these data before and after. A list's items belong to the step itself."""
    for step in order.steps:
        declared = workflow.find_step(step.name)
        if declared is None:
            raise UnreadableDataError(
                f"This release has no step {step.name!r} in this version of the workflow."
            )
        if is_item(step.name) or (declared.each is not None and step.state == StepStatus.NOT_STARTED):
            continue  # items are listed when the step's turn comes, from the data as they are then
        try:
            before, after = (_asked(declared, order, each) for each in (order.data, data))
        except Exception as error:
            raise UnreadableDataError(
                f"What step {step.name} asks for cannot be read from the order’s data: {_short(error)}."
            ) from error
        if before != after:
            yield step, declared, before, after


def _asked(declared: Step, order: StoredOrder, data: Json) -> Json:
    """What a step asks for with these data, as it is stored."""
    if declared.each is not None:
        return {"items": items_of(declared.each, declared.name, Facts(data, order.results))}
    request: Json = _as_stored(declared.data(data))
    return request


def _is_to_be_done(step: StoredStep) -> bool:
    """Whether nothing has been done for a step, and nothing is under way."""
    return step.state in OPEN and step.outcome not in HAS_BEGUN


def _may_be_done(state: str, outcome: str) -> bool:
    """Whether a step has failed and it is unknown whether it was done."""
    return state == StepStatus.FAILED and outcome == Outcome.UNKNOWN


def _is_to_be_reversed(
    step: StoredStep, declared: Step, order: StoredOrder, reverse: Collection[str]
) -> bool:
    """Whether it is wanted, and possible, to reverse what a failed step may have done."""
    if step.name not in reverse:
        return False
    if isinstance(reverse, renewals.Renewals):
        return True
    is_unknown = _may_be_done(step.state, step.outcome)
    return is_unknown and not reversing.why_not_reversed(declared, step.sent_at, order.read_at)


def _check_known(edit: OrderEdit, order: StoredOrder, workflow: Workflow) -> None:
    """Raises `CannotEditError` if a failed step may have been done with the former values, and is not reversed."""
    rows = {step.name: step for step in order.steps}
    unknown = [step.step for step in edit.staying if _may_be_done(step.state, step.outcome)]
    for name in unknown:
        reason = reversing.why_not_reversed(workflow.step_of(name), rows[name].sent_at, order.read_at)
        if reason:
            raise CannotEditError(
                f"It is unknown whether {name} was done, and it {reason}. Settle it first, or it could be done twice."
            )
    if unknown:
        raise ReversalNeededError(unknown)


def _check_reversed(edit: OrderEdit, order: StoredOrder, reverse: Collection[str]) -> None:
    """Raises `CannotEditError` if a step that is to be reversed is not: it may be done by now, or not be concerned."""
    concerned = set(edit.reversed_first)
    concerned |= {step.name for step in order.steps if step.next_request is not None}
    if edit.fields and (others := sorted(set(reverse) - concerned)):
        raise CannotEditError(
            f"{' and '.join(others)} cannot be reversed for this edit, or need not be any more. Check the order, and "
            "review the edit again."
        )


def _check_money(edit: OrderEdit, order: StoredOrder, workflow: Workflow) -> None:
    """Raises `CannotEditError` if money that was reserved or taken, or may have been, would not fit the order."""
    begun = [step for step in order.steps if not _is_to_be_done(step) and step.state != StepStatus.SKIPPED]
    begun = [step for step in begun if step.name not in edit.reversed_first]
    staying = {declared_name(step.step) for step in edit.staying}
    before, after = (profile.value for profile in edit.profiles)
    for step in begun:
        declared = workflow.step_of(step.name)
        if not (declared.takes_value or declared.reserves_value):
            continue
        verb = "taken" if declared.takes_value else "reserved"
        has = f"has {verb}" if step.outcome == Outcome.DONE else f"may have {verb}"
        if before != after:
            raise CannotEditError(
                f"The order’s value cannot be changed from {_sum(before)} to {_sum(after)}, because {step.name} {has} "
                "it already. Cancel the order, and have it placed again."
            )
        if declared.name in staying:
            raise CannotEditError(
                f"{step.name} {has} the order’s value already, and an edit does not change how. Leave that field as "
                "it is, or cancel the order and have it placed again."
            )


def _sum(value: Money | None) -> str:
    return f"{value.figures} {value.currency}" if value is not None else "nothing"


def _as_stored(value: Any) -> Any:
    """A value as it comes back from the database."""
    return json.loads(strict_json(keepable_json(dict(value))))


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_ERROR]
