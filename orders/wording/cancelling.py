"""What compensating orders is called to people: "Cancel and refund €39.00". Pure.

Money is named only where cancelling gives some back: refunded if it was taken, or may have been, and released if it was
only reserved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from orders.fields.money import Money
from orders.selectors.desk.money_back import MoneyBack
from orders.vocabulary import StepStatus
from orders.wording.units import counted, english_money


@dataclass(frozen=True, kw_only=True)
class CancelWords:
    """`act` is what a button says, `state` what the order is afterwards: "the order is …".

    `then` is a sentence about the money, empty without any. `is_certain` says that every step's outcome is known.
    """

    act: str
    state: str
    then: str = ""
    is_certain: bool = False

    @property
    def act_on_order(self) -> str:
        """The act with its object, for a heading: "Cancel the order and refund €39.00"."""
        return self.act.replace("Cancel", "Cancel the order", 1)


REVERSED = {StepStatus.COMPENSATING: "being reversed", StepStatus.COMPENSATED: "reversed"}
"""What the states of a compensation are called of one step."""
WITHOUT_MONEY = CancelWords(act="Cancel", state="cancelled")


def cancel_words(back: MoneyBack, *, is_certain: bool = False) -> CancelWords:
    """The words for one order; with `is_certain`, the outcome of each of its steps is known."""
    if back.is_nothing:
        return replace(WITHOUT_MONEY, is_certain=is_certain)
    refund, release = sums_in_words(back.charged), sums_in_words(back.held)
    acts = [*([f"refund {refund}"] if refund else []), *([f"release {release}"] if release else [])]
    states = [*([f"{refund} refunded"] if refund else []), *([f"{release} released"] if release else [])]
    return CancelWords(
        act=f"Cancel and {' and '.join(acts)}",
        state=f"cancelled and {' and '.join(states)}",
        then=_then(back, is_certain=is_certain),
        is_certain=is_certain,
    )


def cancel_many(count: int, back: MoneyBack, *, shown: str = "") -> str:
    """What a button, a request and the audit log say of cancelling orders: "Cancel 12 orders and refund €468.00".
    `shown` is the count as text."""
    orders = counted(count, "order") if not shown else f"{shown} {'order' if count == 1 else 'orders'}"
    more = " or more" if back.more else ""
    parts = [
        *([f"refund {sums_in_words(back.charged)}{more}"] if back.charged else []),
        *([f"release {sums_in_words(back.held)}{more}"] if back.held else []),
    ]
    return " and ".join([f"Cancel {orders}", *parts])


def refund_sentence(back: MoneyBack) -> str:
    """What happens to the money of these orders; empty without any."""
    more = " or more" if back.more else ""
    sentences = []
    if back.charged:
        verb = _verb(back.charged)
        sentences.append(
            f"{sums_in_words(back.charged)}{more} {verb[1]} charged, or may have been, and {verb[0]} refunded."
        )
    if back.held:
        verb, pronoun = _verb(back.held), "it" if len(back.held) == 1 else "them"
        sentences.append(
            f"{sums_in_words(back.held)}{more} {verb[0]} held and {verb[0]} released; nothing is charged for {pronoun}."
        )
    return " ".join(sentences)


def returned_sentence(back: MoneyBack) -> str:
    """What a cancelled order has given back; empty if that is nothing."""
    if back.charged:
        return f"{sums_in_words(back.charged)} was refunded."
    if back.held:
        return f"{sums_in_words(back.held)} was held and has been released; nothing was charged."
    return ""


def _verb(sums: Sequence[Money]) -> tuple[str, str]:
    """The present and the past of "be" for these sums: one sum is one thing, two are two."""
    return ("is", "was") if len(sums) == 1 else ("are", "were")


def _then(back: MoneyBack, *, is_certain: bool) -> str:
    if back.charged:
        perhaps = "" if is_certain else ", or may have been"
        return f"The customer was charged {sums_in_words(back.charged)}{perhaps}. The money is refunded."
    are = "is" if len(back.held) == 1 else "are"
    return f"Nothing was charged. The {sums_in_words(back.held)} that {are} held {are} released."


def sums_in_words(sums: Sequence[Money]) -> str:
    """Sums in words: "€39.00 and $20.00"."""
    texts = [english_money(price) for price in sums]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
