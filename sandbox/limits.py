"""What the carrier cannot do for anybody: parcels to where it does not go. Of the warehouse see `sandbox.stock`."""

from sandbox.answers import Answer, bad
from sandbox.faults import Faults
from sandbox.operations import Call

NEVER_SERVED = "AQ"
"""The country that the carrier never goes to: Antarctica."""


def find_refusal(call: Call, faults: Faults) -> Answer | None:
    """The refusal of a parcel to where the carrier does not go; None of any other call."""
    if call.operation.name != "create":
        return None
    if call.country != NEVER_SERVED and call.country not in faults.unserved:
        return None
    where = f"{call.country!r:.80}"
    return bad(422, "address_not_served", f"we do not deliver to {where}", {"country": call.country})
