"""Email addresses that an order can be placed with. ASCII only, because not every mail server takes more."""

import re

LONGEST = 254
"""Characters of an email address, the longest that SMTP carries."""
ERASED = "erased@erased.invalid"
"""What stands in place of the email of every erased customer."""

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
PATTERN = rf"{_ATOM}(\.{_ATOM})*@[A-Za-z0-9-]{{1,63}}(\.[A-Za-z0-9-]{{1,63}})+"


def is_valid(email: str) -> bool:
    """Whether an email can be sent to this address."""
    return len(email) <= LONGEST and re.fullmatch(PATTERN, email) is not None


def normalise(email: str) -> str:
    """The form in which an account stores it: without surrounding space, in lower case."""
    return email.strip().lower()
