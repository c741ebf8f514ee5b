"""Whoever logs a line about an order says which one, by one name."""

import ast
from collections.abc import Iterator

from tests.architecture.source import modules, tree

LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
OTHER_NAMES = {"order", "order_ids", "orderid", "process", "process_id"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(syntax: ast.AST) -> Iterator[ast.Call]:
    """The calls that log a line."""
    for node in ast.walk(syntax):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="log"), attr=level)) if level in LEVELS:
                yield node


def knows_an_order(function: Function) -> bool:
    """Whether a function names the id of an order: a parameter, a variable, or an attribute of something."""
    return any(
        "order_id" in (getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "arg", ""))
        for node in ast.walk(function)
        if isinstance(node, ast.Name | ast.Attribute | ast.arg)
    )


def lacking(syntax: ast.AST) -> Iterator[int]:
    """Where a line lacks the order that its function knows. What `**` brings is checked by the tests of the lines."""
    for function in ast.walk(syntax):
        if isinstance(function, Function) and knows_an_order(function):
            for call in lines_of(function):
                if not {keyword.arg for keyword in call.keywords} & {"order_id", None}:
                    yield call.lineno


def test_a_function_that_knows_an_order_says_so_in_each_of_its_lines() -> None:
    assert [f"{module}:{line}" for module in modules() for line in lacking(tree(module))] == []


def test_the_id_of_an_order_has_one_name() -> None:
    others = [
        f"{module}:{call.lineno} {keyword.arg}"
        for module in modules()
        for call in lines_of(tree(module))
        for keyword in call.keywords
        if keyword.arg in OTHER_NAMES
    ]
    assert others == []


def test_a_line_that_lacks_it_is_found() -> None:
    right = "def a(order_id): log.info('x', order_id=order_id)\n"
    wrong = "def b(row):\n  f(row.order_id)\n  log.error('y', action='z')\n"
    assert list(lacking(ast.parse(right + wrong))) == [4]
