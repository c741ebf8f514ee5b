"""A value is named by a noun: a filter is an `order_filter`, not what was `wanted`; a row is a `row`, not `found`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, ROOT

NOT_NOUNS = {
    *("one", "it", "these", "those", "mine", "who", "whom"),
    *("asked", "chosen", "found", "given", "gone", "had", "kept", "known", "left", "listed", "looked"),
    *("made", "said", "stands", "told", "wanted"),
}
ALLOWED = {
    "found": ("orders/models/health.py", "orders/selectors/desk/supervisor.py"),
    "left": (
        *("orders/shop/posters/", "orders/console/order_chart.py"),
        "orders/selectors/desk/workflows.py",
    ),
}
"""Where such a word is a noun after all: `found` is a stored count of a sweep, `left` is a coordinate."""


def values(syntax: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that a syntax tree gives to a value, with its line: variables, attributes, parameters, loops."""
    for node in ast.walk(syntax):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno


def source_files() -> list[Path]:
    paths = [
        path for package in (*PACKAGES, "bench", "tests") for path in sorted((ROOT / package).rglob("*.py"))
    ]
    return [path for path in paths if "migrations" not in path.parts]


def test_a_value_is_named_by_a_noun() -> None:
    named = {
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in source_files()
        for name, line in values(ast.parse(path.read_text()))
        if name in NOT_NOUNS and not str(path.relative_to(ROOT)).startswith(ALLOWED.get(name, ()))
    }
    assert sorted(named) == []


@pytest.mark.parametrize(
    "code",
    [
        *("one = 1", "a, one = 1, 2", "one: int = 1", "if (one := 1): ..."),
        *("self.one = 1", "for one in (): ...", "[one for one in ()]", "def f(one): ...", "lambda *, one: 0"),
        *("with a as one: ...", "match a:\n    case [*one]: ...", "match a:\n    case int() as one: ..."),
    ],
)
def test_every_way_to_name_a_value_is_seen(code: str) -> None:
    assert "one" in {name for name, _ in values(ast.parse(code))}
