"""docs/asvs.md has every requirement of the standard's levels 1 and 2, its evidence exists, and it is counted right."""

import ast
import re
from collections import Counter

from tests.architecture.source import ROOT

DOCUMENT = (ROOT / "docs/asvs.md").read_text()
SECTIONS = {
    1: (2, 9, 11, 3, 2),
    2: (3, 3, 4, 1),
    3: (0, 2, 4, 6, 5, 0, 2),
    4: (3, 1, 2, 4),
    5: (1, 3, 2, 3),
    6: (3, 12, 4, 4, 5, 3, 0, 4),
    7: (3, 4, 2, 5, 2, 2),
    8: (2, 3, 1, 1),
    9: (3, 4),
    10: (2, 2, 4, 11, 5, 2, 3),
    11: (2, 3, 3, 4, 1, 1),
    12: (3, 2, 4),
    13: (1, 5, 2, 5),
    14: (2, 4, 3),
    15: (3, 3, 7),
    16: (1, 5, 4, 3, 3),
    17: (1, 4, 2),
}
"""ASVS 5.0.0: how many requirements of level 1 or 2 each section of a chapter has. They are a section's first ones."""
REQUIREMENTS = [
    f"{chapter}.{section}.{number}"
    for chapter, sections in SECTIONS.items()
    for section, count in enumerate(sections, 1)
    for number in range(1, count + 1)
]
STATES = ("held", "not applicable", "not held")
ROW = re.compile(rf"^\| ([\d.]+) \| (.+) \| ({'|'.join(STATES)}) \| (.+) \|$", re.MULTILINE)
SUMMARY = re.compile(r"^\| (\d+) [^|]+ \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


def test_every_requirement_of_levels_1_and_2_has_one_row() -> None:
    assert len(REQUIREMENTS) == 253
    assert [row[1] for row in ROW.finditer(DOCUMENT)] == REQUIREMENTS


def test_the_counts_and_the_list_of_what_is_not_held_are_right() -> None:
    states = [(row[1], row[3]) for row in ROW.finditer(DOCUMENT)]
    counts = Counter((int(number.partition(".")[0]), state) for number, state in states)
    assert [tuple(map(int, row.groups())) for row in SUMMARY.finditer(DOCUMENT)] == [
        (chapter, *(counts[chapter, state] for state in STATES)) for chapter in SECTIONS
    ]
    held, not_applicable, not_held = (sum(each == state for _, each in states) for state in STATES)
    text = " ".join(DOCUMENT.split())
    assert f"{held} are held, {not_applicable} are not applicable, and {not_held} are not held" in text
    missing = DOCUMENT.partition("Not held, and why:")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (\d[\d.]+) \|", missing, re.MULTILINE) == [
        number for number, state in states if state == "not held"
    ]


def test_the_evidence_exists_and_proves_what_is_held() -> None:
    for row in ROW.finditer(DOCUMENT):
        number, state, evidence = row[1], row[3], row[4]
        for path, test in re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", evidence):
            source = (ROOT / path).read_text()
            names = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
            assert not test or test in names, (number, path, test)
        for path in re.findall(r"`((?:orders|sasweb|docs|static|templates)/[\w/.-]+)`", evidence):
            assert (ROOT / path).exists(), (number, path)
        assert state != "held" or len(evidence) > 4, number
