"""What a histogram says: a percentile, and how many are at least so large. Pure functions.

A histogram has one more count than there are bounds: the first is of what is below the first bound, the last of what is
above the last.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


def total(*histograms: Sequence[int]) -> list[int]:
    """All of them counted together."""
    return [sum(counts) for counts in zip(*histograms, strict=True)]


def percentile(counts: Sequence[int], bounds: Sequence[float], share: float) -> float | None:
    """The value that this share of what is counted does not exceed, or None if nothing is counted.

    Within a bucket the values are taken to be spread evenly, so the result is off by less than the bucket's width. What
    is above the last bound counts as the last bound: it was at least that.
    """
    number = sum(counts)
    if not number:
        return None
    rank = share * number
    bucket = bisect_left(list(accumulate(counts)), rank)
    while not counts[bucket]:
        bucket += 1
    if bucket == len(bounds):
        return float(bounds[-1])
    low = bounds[bucket - 1] if bucket else 0.0
    before = sum(counts[:bucket])
    return float(low + (bounds[bucket] - low) * max(0.0, rank - before) / counts[bucket])


def at_least(counts: Sequence[int], bounds: Sequence[float], value: float) -> int:
    """How many are at least as large as `value`, which is one of the bounds."""
    return sum(counts[bounds.index(value) + 1 :])
