"""What a histogram says of the values that were counted in it."""

import random

import pytest

from orders.models.figures import AGE_BOUNDS, AGES
from orders.selectors.desk.histograms import at_least, percentile, total

BOUNDS = (1.0, 2.0, 4.0)


def test_a_percentile_lies_in_its_bucket_and_of_nothing_there_is_none() -> None:
    assert percentile([0, 0, 0, 0], BOUNDS, 0.5) is None
    assert percentile([0, 2, 0, 0], BOUNDS, 0.5) == pytest.approx(1.5)
    assert percentile([1, 0, 1, 0], BOUNDS, 0.95) == pytest.approx(3.8)
    assert percentile([0, 0, 0, 5], BOUNDS, 0.5) == 4.0
    assert percentile([0, 3, 0, 0], BOUNDS, 0.0) == 1.0


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_percentile_is_never_further_off_than_its_bucket_is_wide(share: float) -> None:
    rng = random.Random(1)
    values = sorted(rng.lognormvariate(3, 2) for _ in range(5_000))
    counts = [0] * AGES
    for value in values:
        counts[sum(bound <= value for bound in AGE_BOUNDS)] += 1
    true = values[int(share * (len(values) - 1))]
    estimate = percentile(counts, AGE_BOUNDS, share)
    assert estimate is not None
    low = max(bound for bound in AGE_BOUNDS if bound <= true)
    high = min(bound for bound in AGE_BOUNDS if bound > true)
    assert low <= estimate <= high


def test_those_above_a_bound_are_counted_from_it_on() -> None:
    assert at_least([1, 2, 4, 8], BOUNDS, 2.0) == 12
    assert at_least([1, 2, 4, 8], BOUNDS, 4.0) == 8


def test_histograms_add_up() -> None:
    assert total([1, 2], [3, 4], [0, 1]) == [4, 7]
