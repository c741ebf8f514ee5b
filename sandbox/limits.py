"""What the services cannot do for anybody: more than is in stock, and parcels to where the carrier does not go."""

from sandbox.answers import Answer, bad
from sandbox.faults import Faults
from sandbox.operations import Call

IN_STOCK = 900
"""How many there are of each product of which no fault says how many."""
NEVER_SERVED = "AQ"
"""The country that the carrier never goes to: Antarctica."""


def find_refusal(call: Call, faults: Faults) -> Answer | None:
    """The refusal of a call that asks for more than its service can do; None if it does not."""
    if call.operation.name == "reserve":
        return _sold_out(call, faults)
    if call.operation.name == "create":
        return _not_served(call, faults)
    return None


def _sold_out(call: Call, faults: Faults) -> Answer | None:
    stock = {sku: faults.stock.get(sku, IN_STOCK) for sku in call.quantities}
    short = [
        {"sku": sku, "left": stock[sku]} for sku, number in call.quantities.items() if number > stock[sku]
    ]
    if not short:
        return None
    names = ", ".join(f"{line['left']} of {line['sku']!r:.80}" for line in short)
    return bad(422, "sold_out", f"not enough in stock: there are {names}", {"lines": short})


def _not_served(call: Call, faults: Faults) -> Answer | None:
    if call.country != NEVER_SERVED and call.country not in faults.unserved:
        return None
    where = f"{call.country!r:.80}"
    return bad(422, "address_not_served", f"we do not deliver to {where}", {"country": call.country})
