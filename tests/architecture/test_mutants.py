"""The mutants of bin/mutate still apply to the source, and the tests that must kill them exist."""

import ast

import pytest

from tests.architecture.source import ROOT
from tests.mutants.__main__ import apply
from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_applies_to_the_present_source(mutant: Mutant) -> None:
    source = (ROOT / mutant.path).read_text()
    changed = apply(mutant, source)
    assert changed != source
    ast.parse(changed)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_test_that_kills_a_mutant_exists(mutant: Mutant) -> None:
    path, _, name = mutant.test.partition("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text() if name else (ROOT / path).is_file()


def test_every_mutant_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
