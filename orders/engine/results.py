"""What the result of a step must hold, because later steps, people or the business rely on it. Pure.

It is checked where an answer enters: at the agent host, at the callback, where an event is reported, and where an
operator settles the step. What has been stored is never checked again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orders.engine.errors import WorkflowError
from orders.engine.waits import OutsideEvent, Wait


class ResultType(StrEnum):
    """What the value of a field must be: a text that is not blank, a number, or any JSON but null."""

    TEXT = "text"
    NUMBER = "number"
    JSON = "json"


@dataclass(frozen=True, kw_only=True)
class ResultField:
    """A field that a result must hold, with its label for people. Raises `WorkflowError` if it has no name."""

    name: str
    label: str
    type: ResultType = ResultType.TEXT

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise WorkflowError("a field of a result needs a name")


def types_of(fields: Sequence[ResultField]) -> dict[str, str]:
    """The types of these fields by their names, as a request carries them."""
    return {field.name: field.type.value for field in fields}


def find_gaps(result: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with a result, by the names of the fields: "is missing". Nothing if it holds all of them.

    A type that this release does not know asks for any value.
    """
    gaps = {name: _gap(result.get(name), kind) for name, kind in types.items()}
    return {name: gap for name, gap in gaps.items() if gap}


def say_gaps(gaps: Mapping[str, str]) -> str:
    """The same in one line: "reference is missing, weight must be a number"."""
    return ", ".join(f"{name} {gap}" for name, gap in gaps.items())


def why_not_declared(fields: Sequence[ResultField], wait: Wait | None) -> str:
    """Why a step with this wait cannot declare these fields; empty if it can."""
    if not fields:
        return ""
    names = [field.name for field in fields]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        return f"declares {', '.join(repeated)} twice in its result"
    if wait is not None and not isinstance(wait, OutsideEvent):
        return "has no result of its own, so it cannot say what that must hold"
    default = wait.default if wait is not None else None
    gaps = find_gaps(default, types_of(fields)) if default is not None else {}
    return f"has a default that does not hold its result: {say_gaps(gaps)}" if gaps else ""


def _gap(value: Any, kind: str) -> str:
    if value is None:
        return "is missing"
    if kind == ResultType.TEXT and not (isinstance(value, str) and value.strip()):
        return "must be a text that is not empty"
    if kind == ResultType.NUMBER and (isinstance(value, bool) or not isinstance(value, int | float)):
        return "must be a number"
    return ""
