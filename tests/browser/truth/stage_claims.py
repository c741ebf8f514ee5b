"""For each stage of an order's page, when it is true: by its title and its state.

What is done is in the ledger. What was done and is reversed is in it twice. What is to come is not in it. Of what is
under way the page claims nothing.
"""

from collections.abc import Mapping

from tests.browser.truth.facts import Holds, Known
from tests.browser.truth.page_claims import cancelled

NOT_BEGUN = frozenset({"later", "skipped"})


def _forward(*operations: str) -> Holds:
    """That a stage with these operations is done, unless its state says otherwise."""

    def holds(k: Known) -> bool:
        if (
            k.state == "done"
        ):  # while it is cancelled, what was done stays so until we know that it is reversed
            return all((k.count if k.is_cancelled else k.left)(name) > 0 for name in operations)
        if k.state == "reversed":
            return all(k.count(name) > 0 for name in operations) and k.left(operations[0]) <= 0
        return True

    return holds


def _ahead(*operations: str) -> Holds:
    """That a stage with these operations is not done yet."""
    return lambda k: k.state not in NOT_BEGUN or all(k.left(name) <= 0 for name in operations)


def _over(holds: Holds) -> Holds:
    """What is true of a stage once it is done."""
    return lambda k: k.state != "done" or holds(k)


def _reversed(operation: str) -> Holds:
    """That there was an effect, and that nothing of it is left."""
    return lambda k: k.state == "done" and k.is_cancelled and k.count(operation) > 0 >= k.left(operation)


def _reversing(operation: str) -> Holds:
    """That there was an effect, and that it is being reversed."""
    return lambda k: k.state != "done" and k.is_cancelled and k.count(operation) > 0


def _reversed_perhaps(operation: str, step: str) -> Holds:
    """That nothing is left of an effect, of which nobody knows whether there was one."""
    return lambda k: (
        k.state == "done" and k.is_cancelled and k.left(operation) <= 0 and not k.is_known_done(step)
    )


def _reversing_perhaps(step: str) -> Holds:
    """That nobody knows whether there was an effect, and that it is made sure that there is none."""
    return lambda k: k.state != "done" and k.is_cancelled and not k.is_known_done(step)


def _confirmed(k: Known) -> bool:
    return k.got("Your order is on its way")


STAGE_CLAIMS: Mapping[str, Holds] = {
    "We have your order": lambda k: k.state == "done",
    "Stock reserved": _forward("reserve"),
    "Payment approved": _forward("authorise"),
    "Stock reserved and payment approved": _forward("reserve", "authorise"),
    "Handed to the carrier": _forward("create"),
    "Paid": _forward("capture"),
    "Confirmed by email": _over(_confirmed),
    "Reserving stock": _ahead("reserve"),
    "Approving payment": _ahead("authorise"),
    "Reserving stock and approving payment": _ahead("reserve", "authorise"),
    "Handing to the carrier": _ahead("create"),
    "Payment": _ahead("capture"),
    "Confirmation by email": lambda k: k.state not in NOT_BEGUN or not _confirmed(k),
    "You cancelled it": lambda k: k.is_cancelled,
    "Cancelled by us": lambda k: k.is_cancelled,
    "Stock released": _reversed("reserve"),
    "Releasing the stock": _reversing("reserve"),
    "No stock is reserved": _reversed_perhaps("reserve", "reserve-stock"),
    "Making sure that no stock is reserved": _reversing_perhaps("reserve-stock"),
    "Shipment cancelled": _reversed("create"),
    "Cancelling the shipment": _reversing("create"),
    "Nothing will be sent": _reversed_perhaps("create", "create-shipment"),
    "Making sure that nothing is sent": _reversing_perhaps("create-shipment"),
    "No money charged or reserved": _over(lambda k: k.is_untouched),
    "Nothing charged": _over(lambda k: not k.count("capture")),
    "Nothing charged or left reserved": _over(lambda k: not k.count("capture") and k.held == 0),
    "{amount} released, nothing charged": _over(
        lambda k: not k.count("capture") and k.held == 0 and k.total("void") >= k.amount
    ),
    "Release of {amount}": lambda k: k.charged == 0 and k.total("authorise") >= k.amount,
    "Release of {amount}, if it was reserved": lambda k: k.charged == 0,
    "{amount} refunded": _over(lambda k: k.charged == 0 and k.total("refund") == k.amount),
    "{amount} refunded if it was taken": _over(lambda k: k.charged == 0),
    "Refund of {amount}": lambda k: k.total("capture") == k.amount,
    "Refund of {amount}, if it was taken": lambda k: k.total("capture") in (0, k.amount),
    "{stage}: reversed": lambda k: k.is_cancelled,
    "{stage}: being reversed": lambda k: k.is_cancelled,
    "{stage}: reversed if it was done": lambda k: k.is_cancelled,
    "{stage}: being reversed if it was done": lambda k: k.is_cancelled,
    "Cancelling everything": lambda k: k.is_cancelled,
    "Cancelling everything and confirming it by email": lambda k: k.is_cancelled,
    "Confirming the cancellation": lambda k: k.state != "done" and cancelled(k),
    "Confirming the cancellation by email": lambda k: k.state != "done" and cancelled(k),
    "Everything is cancelled": _over(lambda k: k.happened("compensated")),
    "Everything cancelled and confirmed by email": _over(
        lambda k: k.happened("compensated") and k.got("Your order was cancelled")
    ),
}
