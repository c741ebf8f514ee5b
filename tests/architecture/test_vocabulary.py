"""Events are written with the kinds of the vocabulary, and every word of the vocabulary is in use."""

import ast
from enum import StrEnum

import pytest

from orders import vocabulary
from orders.vocabulary import ActorKind, EventKind, Reason, ReplyOutcome
from tests.architecture.source import modules, tree, within

WRITERS = [*within("orders.engine"), *within("orders.services"), *within("orders.outbox")]


def members(enumeration: type[StrEnum], where: list[str]) -> set[str]:
    """The members of an enumeration that these modules name."""
    return {
        node.attr
        for module in where
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == enumeration.__name__
    }


@pytest.mark.parametrize("enumeration", [EventKind, ReplyOutcome, Reason, ActorKind])
def test_every_stored_word_is_written_somewhere(enumeration: type[StrEnum]) -> None:
    assert set(enumeration.__members__) - members(enumeration, WRITERS) == set()


def test_nobody_spells_the_kind_of_an_event_as_a_string() -> None:
    """A kind with no other meaning, such as `step_started`, appears only in the vocabulary."""
    others = {
        word.value
        for name, words in vars(vocabulary).items()
        if isinstance(words, type) and issubclass(words, StrEnum) and words not in (StrEnum, EventKind)
        for word in words
    }
    kinds = (
        {kind.value for kind in EventKind}
        - others
        - {"waiting", "claimed", "edited", "replayed", "resubmitted"}
    )
    spelled = [
        f"{module}:{node.lineno} {node.value}"
        for module in modules()
        if module.startswith("orders.") and module != "orders.vocabulary" and ".migrations" not in module
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Constant) and node.value in kinds
    ]
    assert spelled == []


def test_no_module_writes_an_event_of_a_kind_that_is_not_in_the_vocabulary() -> None:
    """The kind is the second value of an `EventRow`; where it is a variable, mypy checks it against the enumeration."""
    literal = [
        f"{module}:{node.lineno}"
        for module in modules()
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "EventRow" and len(node.args) > 1
        if isinstance(node.args[1], ast.Constant)
    ]
    assert literal == []
