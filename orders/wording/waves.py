"""How a bulk action goes through its orders, and how it ended, in sentences. Pure."""

from collections.abc import Sequence

from orders.selectors.desk.bulk import Progress
from orders.vocabulary import BulkKind
from orders.wording.units import number

_DONE_TO_THEM = {BulkKind.RESUBMIT: "tried", BulkKind.COMPENSATE: "cancelled", BulkKind.EDIT: "edited"}


def waves_in_words(kind: str, sizes: Sequence[int], *, stop_percent: float) -> str:
    """What happens to the orders of an action one after the other, given how many each wave takes: "One order is tried
    first. If that succeeds, the other 6 follow."; empty for a single order."""
    first, *between = sizes
    if first + sum(between) < 2:
        return ""
    done = _DONE_TO_THEM[BulkKind(kind)]
    if not between:
        return f"All {number(first)} orders are {done} without waiting for the first result."
    subject = f"One order is {done}" if first == 1 else f"{number(first)} orders are {done}"
    *between, last = between
    rest = f"the other {number(last)}" if last > 1 else "the last one"
    follow = "follows" if not between and last == 1 else "follow"
    head, *tail = [*map(number, between), rest]
    then = "".join(f", then {each}" for each in tail)
    return f"{subject} first. If that succeeds, {head} {follow}{then}. {_stops(stop_percent)}".rstrip()


def _stops(percent: float) -> str:
    """When an action with waves pauses itself; empty if it never does."""
    if percent >= 100:
        return ""
    many = f"more than {number(percent)}%" if percent else "any"
    return f"If {many} fail again, the action pauses until you decide."


def outcome_in_words(progress: Progress) -> str:
    """How an action that has ended went: "5 got through, 2 failed again."; empty as long as it goes on."""
    if not progress.has_ended or progress.acted:
        return ""
    is_one, well = progress.action.total == 1, _well(progress.action.kind)
    if progress.done == progress.action.total:
        return f"The order {_was(well)}." if is_one else f"All {number(progress.done)} {well}."
    parts = [
        (progress.done, well),
        (progress.failed, "failed again"),
        (progress.nothing, "needed nothing"),
        (progress.waiting, "were not tried"),
    ]
    words = [f"{number(count)} {_was(part) if count == 1 else part}" for count, part in parts if count]
    return f"{', '.join(words)}."


def _well(kind: str) -> str:
    """What is said of several orders for which the act succeeded."""
    return "got through" if kind == BulkKind.RESUBMIT else f"were {_DONE_TO_THEM[BulkKind(kind)]}"


def _was(words: str) -> str:
    return words.replace("were ", "was ")
