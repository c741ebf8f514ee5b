"""Runs mutants in a copy of the project: python -m tests.mutants [NAME…], inside a database of its own (bin/mutate)."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.architecture.source import ROOT
from tests.mutants.catalogue import BY_NAME, MUTANTS
from tests.mutants.laboratory import LAB
from tests.mutants.mutant import Mutant

LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv*", "var", "__pycache__", ".*_cache", "node_modules")
LIMIT = 600.0
"""Seconds after which a test counts as failed: without its guard it may go on for ever."""


def main(names: Sequence[str]) -> int:
    """The exit status: 1 if a mutant survives, or if a test fails without one; 2 for an unknown name."""
    if unknown := [name for name in names if name not in BY_NAME]:
        print(f"there is no mutant {', '.join(unknown)}; there are: {', '.join(BY_NAME)}", file=sys.stderr)
        return 2
    mutants = [BY_NAME[name] for name in names] or list(MUTANTS)
    with tempfile.TemporaryDirectory(prefix="sasweb-mutants-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=LEFT_BEHIND)
        tests = list(dict.fromkeys(mutant.test for mutant in mutants))
        print(f"{len(tests)} tests without a mutant …", flush=True)
        for family in families_of(tests):
            if failure := failure_of(copy, *family):
                print(f"they fail already, so nothing can be said of the mutants:\n{failure}")
                return 1
        survivors = [mutant.name for mutant in mutants if not is_killed(copy, mutant)]
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants killed")
    return 1 if survivors else 0


def families_of(tests: Sequence[str]) -> list[list[str]]:
    """The tests that can run together: those of the laboratory need it installed, the others expect that it is not."""
    own = [test for test in tests if test.startswith(LAB)]
    return [family for family in (own, [test for test in tests if test not in own]) if family]


def is_killed(copy: Path, mutant: Mutant) -> bool:
    """Whether the mutant's test fails with it. The copy is afterwards as it was."""
    path = copy / mutant.path
    source = path.read_text()
    began = time.monotonic()
    path.write_text(apply(mutant, source))
    try:
        killed = bool(failure_of(copy, mutant.test))
    finally:
        path.write_text(source)
    word = "killed" if killed else "SURVIVED"
    print(f"{mutant.name:<52}{word:<10}{time.monotonic() - began:5.0f} s  {mutant.test}", flush=True)
    return killed


def apply(mutant: Mutant, source: str) -> str:
    """The source with its guard taken away. Raises `ValueError` unless the guard is there exactly once."""
    count = source.count(mutant.old)
    if count != 1:
        raise ValueError(f"{mutant.name}: {mutant.path} has {mutant.old!r} {count} times")
    return source.replace(mutant.old, mutant.new)


def failure_of(copy: Path, *tests: str) -> str:
    """How these tests fail in the copy; empty when they pass. Raises `RuntimeError` when they cannot be run."""
    businesses = "orders.shop,examples.lab" if tests[0].startswith(LAB) else "orders.shop"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--reuse-db", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(
            command,
            cwd=copy,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "BUSINESSES": businesses},
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not over after {LIMIT:.0f} s"
    if run.returncode > 1:
        raise RuntimeError(f"the tests could not be run:\n{run.stdout[-2_000:]}{run.stderr[-2_000:]}")
    return run.stdout[-4_000:] if run.returncode else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
