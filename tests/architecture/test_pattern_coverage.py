"""Every requirement of the pattern has a test that is marked with it, and the documents account for it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

IDS = (
    *("T1", "T2", "T3", "T4", "T5", "T6"),
    *("S1", "S2", "S3"),
    *("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"),
    *("A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9"),
    *("V1", "V2", "V3", "V4", "V5", "V6", "V7"),
    *("O1", "O2"),
    *("Q1", "Q2", "Q3"),
    *("N1", "N2"),
)
FAULTS = tuple(f"F{number}" for number in range(1, 37))
"""The fault cases. A test may be marked with the cases that it covers, as well as with requirements."""
DOCUMENTS = ("docs/architecture.md", "docs/failure-modes.md")


def marked(path: Path) -> Iterator[tuple[str, str]]:
    """The (requirement, place) of each marker in a test file, on a test, a class or the whole file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func) == "pytest.mark.pattern"
        ):
            for argument in node.args:
                assert isinstance(argument, ast.Constant), (
                    f"{path}:{node.lineno} has a marker whose ids are not literals"
                )
                yield str(argument.value), f"{path.relative_to(ROOT)}:{node.lineno}"


def proofs() -> dict[str, list[str]]:
    """The places of the tests that prove each requirement."""
    places = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for requirement, where in marked(path):
            places[requirement].append(where)
    return places


def named(text: str) -> set[str]:
    """The requirements that a document names, one by one or in a range (V2–V4)."""
    requirements = set(re.findall(r"\b([TSCAVOQN]\d{1,2})\b", text))
    for kind, first, last in re.findall(r"\b([TSCAVOQN])(\d{1,2})[–-]\1(\d{1,2})\b", text):
        requirements |= {f"{kind}{number}" for number in range(int(first), int(last) + 1)}
    return requirements


def test_every_requirement_is_proved_by_a_test() -> None:
    proved = proofs().keys()
    assert [requirement for requirement in IDS if requirement not in proved] == []


@pytest.mark.pattern("N1")
def test_every_fault_case_has_a_test_and_says_in_the_documents_what_happens() -> None:
    proved = proofs().keys()
    rows = re.findall(r"^\| \*\*([F\d, ]+)\*\*", (ROOT / "docs/failure-modes.md").read_text(), re.MULTILINE)
    documented = {fault.strip() for row in rows for fault in row.split(",")}
    assert [fault for fault in FAULTS if fault not in proved or fault not in documented] == []


def test_no_test_is_marked_with_a_requirement_or_fault_that_does_not_exist() -> None:
    known_ids = {*IDS, *FAULTS}
    assert {
        requirement: where for requirement, where in proofs().items() if requirement not in known_ids
    } == {}


def test_every_requirement_is_accounted_for_in_the_documents() -> None:
    texts = [(ROOT / name).read_text() for name in DOCUMENTS if (ROOT / name).is_file()]
    accounted_for = set().union(*map(named, texts))
    assert [requirement for requirement in IDS if requirement not in accounted_for] == []


def test_every_test_that_the_documents_name_exists() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named_tests = {
        name for document in DOCUMENTS for name in re.findall(r"`(test_\w+)`", (ROOT / document).read_text())
    }
    assert [name for name in sorted(named_tests) if f"def {name}(" not in sources] == []


def test_a_range_includes_everything_between_its_ends() -> None:
    assert named("see V2–V4, A10 and `C1`; not XA5, A5b") == {"V2", "V3", "V4", "A10", "C1"}
