"""Who else is at an order or a cause, as a sentence: Also here: mara, cancelling this order for 20 s."""

from collections.abc import Mapping

from orders.wording.units import duration

MINUTE = 60

NOUNS: Mapping[str, str] = {"order": "order", "group": "cause"}
DOING: Mapping[str, str] = {
    "order-compensate": "cancelling",
    "order-edit": "editing",
    "order-erase": "erasing the customer of",
    "step-edit": "editing a step of",
    "step-settle": "settling a step of",
    "step-skip": "skipping a step of",
    "step-decide-confirmed": "deciding about",
    "bulk-new": "acting on all orders of",
}
"""What somebody on the page of an act is doing, by the name of the page's url."""


def sentence(*, operator: str, act: str, kind: str, seconds: float) -> str:
    """What another person is doing. An act that only a newer release knows is not named."""
    noun = NOUNS[kind]
    if not act:
        return f"Also here: {operator}."
    doing, seconds = DOING.get(act, "acting on"), max(1, round(seconds))
    time = f"{seconds} s" if seconds < MINUTE else duration(seconds)
    return f"Also here: {operator}, {doing} this {noun} for {time}."
