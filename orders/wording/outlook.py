"""Says what becomes of the orders that wait for an agent. Pure."""

from datetime import datetime

from orders.fields.money import Money
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.outlook import AHEAD, Outlook
from orders.wording.units import ENGLISH, counted, money, number

HOURS = AHEAD.total_seconds() / 3_600


def pace_in_words(pace: float | None) -> str:
    """How fast an agent's queue moves: "2.5 steps a second", "12 steps a minute", "no calls at present"."""
    if pace is None:
        return "no calls at present"
    if pace >= 1:
        return f"{number(round(pace, 1))} steps a second"
    return f"{counted(max(1, round(pace * 60)), 'step')} a minute"


def in_a_sentence(outlook: Outlook) -> str:
    """What will happen if nothing changes, in a sentence without a full stop: "carrier does 12 steps a minute: at that
    pace 213 of the 347 orders that wait for it will miss the time promised, the first at 14:30 UTC"."""
    parts = []
    if outlook.misses:
        first = _at(outlook.first_miss)
        parts.append(f"{_of_waiting(outlook.misses, outlook)} will miss the time promised, the first {first}")
    if outlook.given_up:
        first = _at(outlook.first_given_up)
        which = _of_waiting(outlook.given_up, outlook)
        parts.append(f"{which} will have waited for as long as their steps may, the first {first}")
    return f"{_pace(outlook)} {'; '.join(parts)}" if parts else _no_miss(outlook)


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
    which = "all" if count == outlook.waiting else f"{number(count)} of the"
    return f"{which} {counted(outlook.waiting, 'order', most=MOST_COUNTED)} that wait for it"


def _pace(outlook: Outlook) -> str:
    if outlook.pace is None:
        return f"{outlook.agent} takes no calls: if it still does not in {counted(round(HOURS), 'hour')},"
    return f"{outlook.agent} does {pace_in_words(outlook.pace)}: at that pace"


def _at(moment: datetime | None) -> str:
    return f"at {moment:%H:%M} UTC" if moment else "soon"
