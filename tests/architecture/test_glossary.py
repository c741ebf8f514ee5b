"""One word for one thing: the product uses every term of docs/glossary.md, and no word that the glossary rules out."""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, modules

GLOSSARY = (ROOT / "docs/glossary.md").read_text()
TERMS_TEXT, _, RULED_OUT_TEXT = GLOSSARY.partition("## Words we do not use")
TERMS = [
    term for row in re.findall(r"^\| \*\*(.+?)\*\* \|", TERMS_TEXT, re.MULTILINE) for term in row.split(", ")
]
RULED_OUT = [
    word
    for row in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", RULED_OUT_TEXT, re.MULTILINE)
    for word in row.split(", ")
    if word != "not"
]
PRODUCT = ("orders", "sasweb", "sandbox", "examples", "templates")
DOCUMENTS = ("docs", "bench", "bin", "README.md", "CHANGELOG.md")
TEXTS = {".py", ".html", ".txt", ".md", ".js", ""}
EXEMPT = {"docs/glossary.md"}
TAKING_BACK_A_CLICK = {
    "orders.api.enumerations": {"UNDONE"},
    "orders.api.operator_bulk_documentation": {"UNDO_ACTION"},
    "orders.api.operator_bulk_views": {"UNDO_ACTION", "undo", "BulkActionUndo"},
    "orders.api.operator_representations": {"can_be_undone"},
    "orders.api.operator_urls": {"BulkActionUndo"},
    "orders.console.bulk_views": {"undo"},
    "orders.selectors.desk.bulk": {"can_be_undone"},
    "orders.selectors.desk.order_rows": {"UNDONE", "_can_undo"},
    "orders.services.operators.bulk_control": {"UNDONE", "undo"},
    "orders.vocabulary": {"UNDONE"},
    "orders.wording.state_labels": {"UNDONE"},
}
"""The only names that say undo. They are about bulk actions, which an operator can take back before they start."""


def texts(*places: str) -> Iterator[tuple[str, str]]:
    """The path and the text of each file in these places, except migrations: history keeps its words."""
    for place in places:
        path = ROOT / place
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = str(file.relative_to(ROOT))
            if (
                file.is_file()
                and file.suffix in TEXTS
                and "migrations" not in file.parts
                and name not in EXEMPT
            ):
                yield name, file.read_text()


def uses(term: str, text: str) -> bool:
    """Whether a text uses the term: as words, as a_name or as AName, in the singular or the plural."""
    words = r"[\s_-]*".join(re.escape(word) for word in re.split(r"[\s-]", term))
    return re.search(rf"(?<![a-z]){words}(s|es|d|ed|r)?(?![a-z])", text, re.IGNORECASE) is not None


def split_camel_case(text: str) -> str:
    """`BulkAction` becomes `Bulk Action`, so that class names count as uses of a term."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)


def lines_with(word: str, name: str, text: str) -> list[str]:
    """Where a file uses the word, even across a line break: `path:line`."""
    pattern = r"\s+".join(re.escape(part) for part in word.split())
    matches = re.finditer(rf"(?<![\w-]){pattern}(?![\w-])", text, re.IGNORECASE)
    return [f"{name}:{text.count(chr(10), 0, match.start()) + 1}" for match in matches]


def test_the_glossary_is_read_completely() -> None:
    assert {"order", "alert group", "request", "reply", "room"} <= set(TERMS)
    assert {"mended", "telephone", "log in"} <= set(RULED_OUT)


def test_each_term_is_listed_once() -> None:
    assert len(TERMS) == len(set(TERMS))


def test_every_term_is_used() -> None:
    product = split_camel_case("\n".join(text for _, text in texts(*PRODUCT, "tests/architecture")))
    assert [term for term in TERMS if not uses(term, product)] == []


@pytest.mark.parametrize("word", RULED_OUT)
def test_no_word_that_the_glossary_rules_out_is_used(word: str) -> None:
    assert [line for name, text in texts(*PRODUCT, *DOCUMENTS) for line in lines_with(word, name, text)] == []


def names_with_undo(path: Path) -> set[str]:
    """The names in a module's code that say undo."""
    with path.open() as file:
        return {
            token.string
            for token in tokenize.generate_tokens(file.readline)
            if token.type == tokenize.NAME and re.search(r"und(o|id|one)", token.string, re.IGNORECASE)
        }


def test_undo_names_taking_back_a_click_and_never_compensation() -> None:
    uses_of_undo = {module: names for module, path in modules().items() if (names := names_with_undo(path))}
    assert uses_of_undo == TAKING_BACK_A_CLICK


def test_a_word_is_found_in_every_form_and_not_inside_another() -> None:
    assert uses("alert group", split_camel_case("class AlertGroup:")) and uses(
        "locked by", "row.locked_by = None"
    )
    assert not uses("face", "the surface") and uses("face", "two faces")
    assert lines_with("mended", "a.py", "recommended\nand\nmended") == ["a.py:3"]
    assert lines_with("mail address", "a.py", "the mail\naddress") == ["a.py:1"]
