"""Resubmitting orders, in words: what the buttons do, and what has become of the orders."""

from collections.abc import Collection, Mapping, Sequence

from orders.business.fields import Field
from orders.selectors.desk.agents import HeldUp
from orders.selectors.desk.resubmissions import Resubmission
from orders.wording.order_edits import in_words
from orders.wording.units import number


def resubmit_sentence(steps: Sequence[str], *, is_backward: bool, seconds: int) -> str:
    """What resubmitting an order does: its failed `steps` are tried again, or with `is_backward` their reversal."""
    names = in_words(steps) if steps else "the order"
    what = f"Tries again to reverse {names}" if is_backward and steps else f"Tries {names} again"
    return f"{what} with the same data, after {seconds} seconds in which you can undo it."


def edit_sentence(fields: Sequence[Field], *, has_more: bool) -> str:
    """What may be changed before an order is resubmitted: the `fields` that its failed step asks for; the order
    may have more."""
    then = "Saving tries it again at once."
    if not fields:
        return f"Change a field of the order first. {then}"
    first = fields[0].label.partition(" (")[0].lower()
    return f"Change the {first}{' or another field' if has_more else ''} first. {then}"


def became(resubmission: Resubmission, held_up: Collection[HeldUp]) -> str:
    """What has become of resubmitted orders: "2 wait for carrier, which is down; 1 got through"."""
    if resubmission.processed == resubmission.orders:
        return (
            "it got through" if resubmission.orders == 1 else f"all {number(resubmission.orders)} got through"
        )
    parts = [
        *_waits(resubmission.waiting, held_up),
        *_part(resubmission.running, "is", "are", "under way"),
        *([f"{number(resubmission.processed)} got through"] if resubmission.processed else []),
        *_part(resubmission.cancelled, "was", "were", "cancelled"),
        *_part(resubmission.failed, "has", "have", "failed again"),
    ]
    return "; ".join(parts)


def waits_sentence(waiting: Mapping[str, int], held_up: Collection[HeldUp]) -> str:
    """For which agents resubmitted orders wait: "3 wait for carrier, which is down."; empty if none does."""
    parts = _waits(waiting, held_up)
    return f"{'; '.join(parts)}." if parts else ""


def _waits(waiting: Mapping[str, int], held_up: Collection[HeldUp]) -> list[str]:
    why = {each.agent: _why(each) for each in held_up}
    return [
        f"{number(count)} {'waits' if count == 1 else 'wait'} for {agent}{why.get(agent, '')}"
        for agent, count in waiting.items()
    ]


def _why(held_up: HeldUp) -> str:
    if held_up.since:
        return ", which is down"
    return f", whose calls {held_up.by} holds back" if held_up.until else f", which {held_up.by} has paused"


def _part(count: int, singular: str, plural: str, rest: str) -> list[str]:
    return [f"{number(count)} {singular if count == 1 else plural} {rest}"] if count else []
