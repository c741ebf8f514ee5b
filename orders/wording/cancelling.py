"""What compensating an order is called to people. Money is named only where an order can have taken any."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CancelWords:
    """`act` is what a button says, `state` what the order is afterwards: "the order is …". `refunds`: with money."""

    act: str
    state: str
    refunds: bool


WITH_MONEY = CancelWords(act="Cancel and refund", state="cancelled and refunded", refunds=True)
WITHOUT_MONEY = CancelWords(act="Cancel", state="cancelled", refunds=False)


def cancel_words(*, has_money: bool) -> CancelWords:
    """The words for an order that can have taken money, or for one that cannot."""
    return WITH_MONEY if has_money else WITHOUT_MONEY
