"""Says what becomes of the orders that wait for an agent. Pure."""

from datetime import datetime

from orders.fields.money import Money
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.outlook import Outlook
from orders.wording.agents import limits_in_words
from orders.wording.units import ENGLISH, counted, money, number


def pace_in_words(pace: float) -> str:
    """How fast an agent's queue moves: "2.5 steps a second", "12 steps a minute"."""
    if round(pace, 1) == 1:
        return "1 step a second"
    if pace >= 1:
        return f"{number(round(pace, 1))} steps a second"
    return f"{counted(max(1, round(pace * 60)), 'step')} a minute"


def in_a_sentence(outlook: Outlook) -> str:
    """What will happen if nothing changes, in a sentence without a full stop: "carrier does 12 steps a minute: at that
    pace 213 of the 347 orders that wait for it will miss the time promised, the first at 14:30 UTC"."""
    parts = []
    if outlook.misses:
        first = _first(outlook.misses, outlook.first_miss)
        parts.append(f"{_of_waiting(outlook.misses, outlook)} will miss the time promised{first}")
    if outlook.given_up:
        first = _first(outlook.given_up, outlook.first_given_up)
        which, whose = _of_waiting(outlook.given_up, outlook), "its" if outlook.given_up == 1 else "their"
        steps = "step" if outlook.given_up == 1 else "steps"
        parts.append(f"{which} will have waited for as long as {whose} {steps} may{first}")
    return f"{_pace(outlook)} {'; '.join(parts)}" if parts else _no_miss(outlook)


def limits_of(outlook: Outlook) -> str:
    """Says that an operator has limited the agent, and to what; empty if nobody has."""
    limits = limits_in_words(outlook.set_rate, outlook.set_capacity)
    return f"An operator has limited {outlook.agent} to {limits}." if limits else ""


def value_in_words(outlook: Outlook) -> str:
    """What the orders are worth that will be late: "€1,039.00 and £40.00"; empty if that is nothing."""
    sums = [Money(amount=total, currency=currency) for currency, total in sorted(outlook.value.items())]
    return " and ".join(money(each, locale=ENGLISH) for each in sums)


def _no_miss(outlook: Outlook) -> str:
    waiting = counted(outlook.waiting, "order", most=MOST_COUNTED)
    return (
        f"{waiting} {'waits' if outlook.waiting == 1 else 'wait'} for {outlook.agent}, and none will be late"
    )


def _of_waiting(count: int, outlook: Outlook) -> str:
    if outlook.waiting == 1:
        return "the one order that waits for it"
    orders = counted(outlook.waiting, "order", most=MOST_COUNTED)
    if count == outlook.waiting:
        return f"{'both orders' if count == 2 else f'all {orders}'} that wait for it"
    return f"{number(count)} of the {orders} that wait for it"


def _pace(outlook: Outlook) -> str:
    if not outlook.takes_calls:
        return f"{outlook.agent} takes no calls: if that goes on, within the next hour"
    if outlook.pace is None:
        return (
            f"{outlook.agent} has completed no step in the last minute: if that goes on, within the next hour"
        )
    return f"{outlook.agent} does {pace_in_words(outlook.pace)}: at that pace"


def _first(count: int, moment: datetime | None) -> str:
    if moment is None:
        return ""
    return f", at {moment:%H:%M} UTC" if count == 1 else f", the first at {moment:%H:%M} UTC"
