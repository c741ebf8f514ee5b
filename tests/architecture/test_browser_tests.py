"""No browser test looks away from the browser's console."""

import re

from tests.architecture.source import ROOT


def test_every_page_of_a_browser_test_is_in_a_quiet_context() -> None:
    opens = re.compile(r"\.new_context\(|browser\.new_page\(")
    files = [ROOT / "tests/browser/conftest.py", *(ROOT / "tests/browser").glob("test_*.py")]
    assert [path.name for path in files if opens.search(path.read_text())] == []
