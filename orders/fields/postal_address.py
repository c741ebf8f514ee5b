"""The parts of a postal address, and what a phone number looks like. Pure."""

import re
import unicodedata

PARTS = ("name", "street", "line2", "city", "state", "postal_code", "country", "phone")
"""Those that an address can have. The phone is for the carrier; it is never written on an envelope."""
ALWAYS = ("name", "street", "city", "country")
"""Those that every address has. Whether it has a state and a postal code depends on its country."""
LONGEST_PART = 200
"""Characters of each part."""
LONGEST_PHONE = 40
FEWEST_DIGITS, MOST_DIGITS = 5, 18
"""Digits of a phone number."""

_PHONE = re.compile(r"\+?[0-9 ()./-]+")


def tidy_phone(text: str) -> str:
    """A phone number without space around it, and in ASCII digits."""
    return unicodedata.normalize("NFKC", text).strip()


def is_phone(text: str) -> bool:
    """Whether a text can be a phone number of any country."""
    digits = sum(character.isdigit() for character in text)
    return (
        len(text) <= LONGEST_PHONE
        and _PHONE.fullmatch(text) is not None
        and FEWEST_DIGITS <= digits <= MOST_DIGITS
    )
