"""The codes of countries: those of ISO 3166, and XK, which everybody uses for Kosovo. Pure."""

from functools import cache

from babel import Locale

NOT_COUNTRIES = frozenset(
    {"AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "ZZ"}
)
"""Two-letter codes in CLDR that are neither."""


def is_country(code: str) -> bool:
    """Whether a text is the code of a country."""
    return code in country_codes()


@cache
def country_codes() -> frozenset[str]:
    """Those of all countries."""
    codes = map(str, Locale.parse("en").territories)
    return frozenset(code for code in codes if len(code) == 2 and code.isalpha()) - NOT_COUNTRIES
