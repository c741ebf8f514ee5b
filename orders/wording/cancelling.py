"""What compensating orders is called to people: "Cancel and refund €39.00". Pure.

Money is named only where cancelling gives some back: refunded if it was taken, or may have been, and released if it was
only reserved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orders.fields.money import Money
from orders.selectors.desk.money_back import Cancellation, MoneyBack
from orders.vocabulary import StepStatus
from orders.wording.units import counted, english_money, plain_money


@dataclass(frozen=True, kw_only=True)
class CancelWords:
    """`act` is what a button says, `state` what the order is afterwards: "the order is …".

    `then` is a sentence about the money, empty without any.
    """

    act: str
    state: str
    then: str = ""

    @property
    def act_on_order(self) -> str:
        """The act with its object, for a heading: "Cancel the order and refund €39.00"."""
        return self.act.replace("Cancel", "Cancel the order", 1)


REVERSED = {StepStatus.COMPENSATING: "being reversed", StepStatus.COMPENSATED: "reversed"}
"""What the states of a compensation are called of one step."""
WITHOUT_MONEY = CancelWords(act="Cancel", state="cancelled")


def cancel_words(back: MoneyBack) -> CancelWords:
    """The words for one order."""
    if back.is_nothing:
        return WITHOUT_MONEY
    refund, release = sums_in_words(back.charged), sums_in_words(back.held)
    acts = [*([f"refund {refund}"] if refund else []), *([f"release {release}"] if release else [])]
    states = [*([f"{refund} refunded"] if refund else []), *([f"{release} released"] if release else [])]
    return CancelWords(
        act=f"Cancel and {' and '.join(acts)}",
        state=f"cancelled and {' and '.join(states)}",
        then=_then(back),
    )


def cancel_plainly(cancellation: Cancellation) -> str:
    """The act on orders as a request and the audit log name it: "Cancel 12 orders and refund EUR 468.00"."""
    return cancel_many(cancellation.orders, cancellation.back, text=plain_money)


def cancel_many(
    count: int, back: MoneyBack, *, shown: str = "", text: Callable[[Money], str] = english_money
) -> str:
    """What a button says that cancels orders: "Cancel 12 orders and refund €468.00". `shown` is the count as text, and
    `text` writes a sum."""
    orders = counted(count, "order") if not shown else f"{shown} {'order' if count == 1 else 'orders'}"
    more = " or more" if back.more else ""
    parts = [
        *([f"refund {sums_in_words(back.charged, text)}{more}"] if back.charged else []),
        *([f"release {sums_in_words(back.held, text)}{more}"] if back.held else []),
    ]
    return " and ".join([f"Cancel {orders}", *parts])


def refund_sentence(back: MoneyBack) -> str:
    """What happens to the money of these orders; empty without any."""
    more = " or more" if back.more else ""
    sentences = [
        *(
            [f"{sums_in_words(back.charged)}{more} was charged, or may have been, and is refunded."]
            if back.charged
            else []
        ),
        *(
            [f"{sums_in_words(back.held)}{more} is held and is released; nothing is charged for it."]
            if back.held
            else []
        ),
    ]
    return " ".join(sentences)


def _then(back: MoneyBack) -> str:
    if back.charged:
        return f"The customer was charged {sums_in_words(back.charged)}, or may have been. The money is refunded."
    return f"{sums_in_words(back.held)} is held and has not been charged. The hold is released."


def sums_in_words(sums: Sequence[Money], text: Callable[[Money], str] = english_money) -> str:
    """Sums in words: "€39.00 and $20.00"."""
    texts = [text(price) for price in sums]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
