"""The parts of a postal address."""

PARTS = ("name", "street", "city", "postal_code", "country")
LONGEST_PART = 200
"""Characters of each part."""
