"""Every error code that the product makes has a text that says what it means, what happens, and what to do."""

import ast
import re
from collections.abc import Iterator

import pytest

from orders.business import registry
from orders.vocabulary import AlertKind
from orders.wording.runbooks import FAMILIES, RUNBOOKS, find_runbook
from tests.architecture.source import modules, tree, within

PLACES = ("orders.engine", "orders.agents", "orders.watchdog", "orders.shop.agents")
SOURCES = [module for place in PLACES for module in within(place)]
ERRORS = ("Transient", "Refused", "Declined", "Unresolved", "Undecided", "_unsent")
CALLS = {**dict.fromkeys(ERRORS, 0), "Trouble": 2, "NewAlert": 2}
"""What makes an error or an alert, and which of its arguments is the code."""
NAMED = {"CODE", "code", "KEY_REUSED"}
"""Names that a code is given to."""
CODE = re.compile(r"[a-z]+(_[a-z0-9]+)*")


def codes_in(module: str) -> Iterator[str]:
    """The codes that a module makes: constants where it makes errors and alerts, or gives a code a name."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call):
            yield from _codes_of_call(node)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "code":
                    yield from constants(value)
        elif isinstance(node, ast.Assign):
            yield from _codes_of_assignment(node)


def _codes_of_call(node: ast.Call) -> Iterator[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    place = CALLS.get(name)
    if place is not None and len(node.args) > place:
        yield from constants(node.args[place])
    if name == "__init__" and node.args:
        yield from constants(node.args[0])
    for keyword in node.keywords:
        if keyword.arg == "code":
            yield from constants(keyword.value)


def _codes_of_assignment(node: ast.Assign) -> Iterator[str]:
    for target in node.targets:
        yield from _codes_given(target, node.value)


def _codes_given(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name) and target.id in NAMED:
        yield from constants(value)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.IfExp):
        yield from _codes_given(target, value.body)
        yield from _codes_given(target, value.orelse)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for each, part in zip(target.elts, value.elts, strict=False):
            yield from _codes_given(each, part)


def constants(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be, as far as it names them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if CODE.fullmatch(node.value):
            yield node.value
    elif isinstance(node, ast.IfExp):
        yield from constants(node.body)
        yield from constants(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from constants(value)
    elif (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "AlertKind"
    ):
        yield AlertKind[node.attr].value


def test_the_search_finds_codes_wherever_they_are_made() -> None:
    codes = {code for module in SOURCES for code in codes_in(module)}
    assert {
        "timeout",
        "certificate",
        "http_402",
        "key_expired",
        "no_progress",
        "slow",
        "workflow_missing",
    } < codes
    assert {
        "timed_out",
        "not_called",
        "cannot_be_inserted",
        "no_host",
        "incomplete_result",
        "not_taken",
    } < codes
    assert {"bad_mail", "no_answer", "idempotency_key_reused", "part_failed", "outcome_unknown"} < codes


def test_every_code_that_the_product_makes_has_a_text() -> None:
    missing = {
        f"{module}: {code}"
        for module in SOURCES
        for code in codes_in(module)
        if find_runbook(kind="step_failed", code=code, agent="") is None
    }
    assert missing == set()


def test_no_text_is_about_a_code_that_nobody_makes() -> None:
    codes = {code for module in SOURCES for code in codes_in(module)}
    sources = "\n".join(modules()[module].read_text() for module in SOURCES)
    assert {code for code in RUNBOOKS if code not in codes and f'"{code}"' not in sources} == set()


@pytest.mark.parametrize("code", ["http_404", "http_503", "http_302", "smtp_450", "smtp_550"])
def test_a_status_of_a_service_has_the_text_of_its_family(code: str) -> None:
    text = find_runbook(kind="step_failed", code=code, agent="payments")
    assert text is next(text for start, text in FAMILIES.items() if code.startswith(start))


def test_an_error_of_the_program_has_the_text_of_its_kind_and_an_unknown_code_has_none() -> None:
    text = find_runbook(kind="unprocessable", code="KeyError", agent="")
    assert text is RUNBOOKS["unprocessable"]
    assert find_runbook(kind="release", code="ProgrammingError", agent="") is not None
    assert find_runbook(kind="step_failed", code="out_of_flour", agent="kitchen") is None


def test_a_business_says_what_its_own_codes_mean_and_only_for_its_own_agents() -> None:
    (kind,) = [kind for kind in registry.kinds() if kind.name == "fulfil-order"]
    assert (
        find_runbook(kind="step_failed", code="card_declined", agent="payments")
        is kind.runbooks["card_declined"]
    )
    assert find_runbook(kind="step_failed", code="card_declined", agent="kitchen") is None


def test_each_text_is_made_of_whole_sentences() -> None:
    own = [text for kind in registry.kinds() for text in kind.runbooks.values()]
    for text in [*RUNBOOKS.values(), *FAMILIES.values(), *own]:
        for sentence in (text.means, text.does, text.todo):
            assert sentence[:1].isupper() or sentence[:1].isdigit(), sentence
            assert sentence.endswith("."), sentence
            assert len(sentence) <= 260, sentence
