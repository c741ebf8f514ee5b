"""The language of a page or an email."""

from babel import Locale, UnknownLocaleError
from django.utils.translation import get_language, get_supported_language_variant, to_locale

BRITISH = Locale("en", "GB")


def reader_locale() -> Locale:
    """The locale of the active language; English when Babel does not know it."""
    try:
        return Locale.parse(to_locale(get_language() or "en"))
    except (UnknownLocaleError, ValueError):
        return Locale("en")


def locale_of_dates(locale: Locale) -> Locale:
    """The locale in which dates and times are written for readers of this one: Britain's for English without a region,
    as that is what our English is. Sums and other numbers stay in their own."""
    return BRITISH if str(locale) == "en" else locale


def known_language(tag: object) -> str:
    """The language in which somebody is written to who has asked for this one: "hu" for "hu-HU", and English for one
    that we do not have, and for none."""
    try:
        return get_supported_language_variant(tag) if isinstance(tag, str) and tag else "en"
    except LookupError:
        return "en"
