"""What a client prefers (`Prefer`, RFC 7240). Throttles read it, too, and they are imported before the schema."""

import re

from rest_framework.request import Request

from orders.api.paging import LONGEST_WAIT
from orders.fields.numbers import read_whole_number


def read_wait(request: Request) -> int:
    """The seconds in `Prefer: wait=N`, or 0 without it. Ignores a preference that cannot be read (RFC 7240)."""
    for preference in re.split("[,;]", request.headers.get("Prefer", "")):
        name, _, value = preference.partition("=")
        seconds = read_whole_number(value.strip().strip('"'))
        if name.strip().lower() == "wait" and seconds is not None:
            return min(seconds, LONGEST_WAIT)
    return 0
