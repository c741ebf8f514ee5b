"""For each sentence that says where the money of an order is, when it is true."""

from collections.abc import Mapping

from tests.browser.truth.facts import Holds, Known


def untouched(k: Known) -> bool:
    return k.charged == 0 and k.held == 0


def held_amount(k: Known) -> bool:
    """That it is reserved, or that nobody has told us yet that it was released."""
    is_open = not k.happened("step_compensated", "authorise-payment")
    return k.charged == 0 and (k.held == k.amount or (is_open and k.total("authorise") >= k.amount))


def perhaps_held(k: Known) -> bool:
    return k.charged == 0 and k.held in (0, k.amount)


def refunded(k: Known) -> bool:
    return k.charged == 0 and k.total("refund") == k.amount


def refunded_if_taken(k: Known) -> bool:
    return k.charged == 0 and k.total("refund") in (0, k.amount)


def released(k: Known) -> bool:
    return not k.count("capture") and k.held == 0 and k.total("void") >= k.amount


MONEY: Mapping[str, Holds] = {
    "No money was charged or reserved.": lambda k: k.is_untouched,
    "Nothing was charged.": lambda k: not k.count("capture"),
    "Nothing was charged. If {amount} was reserved on your card, it will be released.": perhaps_held,
    "Nothing was charged. If {amount} was reserved, it will be released.": perhaps_held,
    "Nothing was charged. If {amount} was reserved on your card, it has been released.": untouched,
    "Nothing was charged. If {amount} was reserved, it has been released.": untouched,
    "{amount} may be reserved on your card. If the order is cancelled, it will be released.": perhaps_held,
    "{amount} may be reserved. If the order is cancelled, it will be released.": perhaps_held,
    "Nothing was charged, and the {amount} reserved on your card will be released.": held_amount,
    "Nothing was charged, and the {amount} that we reserved will be released.": held_amount,
    "Nothing was charged, and the {amount} reserved on your card has been released.": released,
    "Nothing was charged, and the {amount} that we reserved has been released.": released,
    "{amount} is reserved on your card, and will be released if the order is cancelled.": held_amount,
    "{amount} is reserved, and will be released if the order is cancelled.": held_amount,
    "We’ll refund {amount}.": lambda k: k.charged == k.amount,
    "We’ve refunded {amount}. Your bank may take up to 10 days to show it.": refunded,
    "{amount} has been charged. If the order is cancelled, we’ll refund it.": lambda k: k.charged == k.amount,
    "We don’t know yet whether {amount} was taken.": lambda k: k.charged in (0, k.amount),
    "We don’t know yet whether {amount} was taken. If it was, we’ll refund all of it.": (
        lambda k: k.charged in (0, k.amount)
    ),
    "If {amount} was taken, we’ve refunded all of it. Your bank may take up to 10 days to show it.": (
        refunded_if_taken
    ),
}
