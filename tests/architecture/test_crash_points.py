"""Crash points are added from outside: the product has no hooks for them, and each point is a function that exists."""

import pytest

from tests.architecture.source import ROOT
from tests.support import crash


@pytest.mark.pattern("C9")
def test_nothing_in_the_product_can_be_armed() -> None:
    words = ("SAS_FAIL", "tests.support", "crash_point")
    sources = [path for folder in ("orders", "sasweb", "sandbox") for path in (ROOT / folder).rglob("*.py")]
    assert [str(path) for path in sources for word in words if word in path.read_text()] == []


@pytest.mark.pattern("C9")
def test_every_point_is_a_function_of_the_product() -> None:
    """Otherwise a renamed function would be a point that no role ever passes."""
    targets = {place.target for points in crash.POINTS.values() for place in points.values()} - {crash.COMMIT}
    for target in targets | {target for passes in crash.PASSES.values() for target in passes}:
        assert callable(crash.resolve(target)[2]), target


def test_a_shot_is_written_as_it_is_read() -> None:
    for role in crash.ROLES:
        for shot in crash.every_shot(role):
            assert crash.parse(f"{shot},{shot}") == [shot, shot]


@pytest.mark.parametrize(
    "text", ["scheduler.nowhere:kill", "scheduler.after-lock:explode", "nobody.after-lock:kill"]
)
def test_an_unknown_point_or_mode_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no such point"):
        crash.parse(text)
