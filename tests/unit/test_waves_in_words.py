"""What the console says before a bulk action begins, and once it has ended."""

import pytest

from orders.models import BulkAction
from orders.selectors.desk.bulk import Progress, Wave
from orders.wording.waves import outcome_in_words, waves_in_words

STOPS = " If more than 20% fail again, the action pauses until you decide."


@pytest.mark.parametrize(
    ("kind", "sizes", "percent", "words"),
    [
        ("resubmit", [1], 20, ""),
        ("resubmit", [1, 1], 20, "One order is tried first. If that succeeds, the last one follows." + STOPS),
        ("resubmit", [1, 6], 20, "One order is tried first. If that succeeds, the other 6 follow." + STOPS),
        (
            "edit",
            [1, 10, 100, 1389],
            100,
            "One order is edited first. If that succeeds, 10 follow, then 100, then the other 1,389.",
        ),
        (
            "compensate",
            [5, 1],
            0,
            "5 orders are cancelled first. If that succeeds, the last one follows."
            " If any fail again, the action pauses until you decide.",
        ),
        ("resubmit", [7], 20, "All 7 orders are tried without waiting for the first result."),
    ],
)
def test_the_waves_are_said_in_words(kind: str, sizes: list[int], percent: float, words: str) -> None:
    assert waves_in_words(kind, sizes, stop_percent=percent) == words


@pytest.mark.parametrize(
    ("kind", "state", "counts", "words"),
    [
        ("resubmit", "finished", {"done": 7}, "All 7 got through."),
        ("resubmit", "finished", {"done": 1}, "The order got through."),
        ("resubmit", "finished", {"done": 5, "failed": 2}, "5 got through, 2 failed again."),
        ("resubmit", "finished", {"failed": 1}, "1 failed again."),
        ("compensate", "finished", {"done": 1}, "The order was cancelled."),
        ("edit", "finished", {"done": 2, "nothing": 1}, "2 were edited, 1 needed nothing."),
        ("resubmit", "stopped", {"done": 1, "waiting": 6}, "1 got through, 6 were not tried."),
        ("resubmit", "stopped", {"done": 6, "waiting": 1}, "6 got through, 1 was not tried."),
        ("resubmit", "stopped", {"acted": 1, "done": 6}, ""),
        ("resubmit", "running", {"done": 7}, ""),
        ("resubmit", "undone", {"waiting": 7}, ""),
    ],
)
def test_an_action_that_has_ended_says_how(kind: str, state: str, counts: dict[str, int], words: str) -> None:
    none = dict.fromkeys(("waiting", "acted", "done", "failed", "nothing"), 0)
    size = sum(counts.values())
    wave = Wave(number=1, size=size, is_present=False, sums={}, **{**none, **counts})
    action = BulkAction(kind=kind, state=state, total=size)
    assert outcome_in_words(Progress(action=action, waves=[wave], begins_in=None)) == words
