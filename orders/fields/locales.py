"""The language of a page or an email."""

from babel import Locale, UnknownLocaleError
from django.utils.translation import get_language, to_locale


def reader_locale() -> Locale:
    """The locale of the active language; English when Babel does not know it."""
    try:
        return Locale.parse(to_locale(get_language() or "en"))
    except (UnknownLocaleError, ValueError):
        return Locale("en")
