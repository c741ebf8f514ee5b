"""What bulk actions are about in money, as operators read it. Pure."""

from orders.selectors.desk.money_back import MoneyBack
from orders.vocabulary import BulkKind
from orders.wording.cancelling import sums_in_words


def sums_of(back: MoneyBack) -> str:
    """The sums in short: "€468.00 and $20.00, €39.00 held"; empty without any."""
    return ", ".join(
        [
            *([sums_in_words(back.charged)] if back.charged else []),
            *([f"{sums_in_words(back.held)} held"] if back.held else []),
        ]
    )


def worth_sentence(count: int, worth: MoneyBack) -> str:
    """What is at stake with orders that are resubmitted; empty if they have no value."""
    if worth.is_nothing:
        return ""
    subject = "The order is" if count == 1 else "Together, the orders are"
    return f"{subject} worth {sums_in_words(worth.charged)}{' or more' if worth.more else ''}."


def money_of_action(kind: str, money: MoneyBack) -> str:
    """What all orders of an action are about; empty if that is no money."""
    if money.is_nothing:
        return ""
    if kind != BulkKind.COMPENSATE:
        return f"The orders were worth {sums_in_words(money.charged)} in all when this was requested."
    parts = [
        *([f"{sums_in_words(money.charged)} to refund"] if money.charged else []),
        *([f"{sums_in_words(money.held)} to release"] if money.held else []),
    ]
    return f"When this was requested, there was {' and '.join(parts)}."
