"""The countries by their ISO 3166 codes, with their names in the reader's language."""

import unicodedata
from functools import lru_cache

from babel import Locale

from orders.fields.country_codes import is_country
from orders.fields.locales import reader_locale

WITH_ARTICLE = frozenset(
    {
        "AE",
        "AX",
        "BQ",
        "BS",
        "CC",
        "CF",
        "CK",
        "DO",
        "FK",
        "FO",
        "GB",
        "GM",
        "HM",
        "IM",
        "IO",
        "KM",
        "KY",
        "MH",
        "MP",
        "MV",
        "NL",
        "PH",
        "PS",
        "SB",
        "SC",
        "TC",
        "TF",
        "UM",
        "US",
        "VG",
        "VI",
    }
)
"""Countries that English puts "the" before in a sentence."""

SHORT = {
    "HK": {"en": "Hong Kong", "hu": "Hongkong", "ko": "홍콩", "zh": "中国香港"},
    "MO": {"en": "Macao", "hu": "Makaó", "ko": "마카오", "zh": "中国澳门"},
}
"""Names as people write them, by language, where CLDR's are those of an administration: "Hong Kong SAR China"."""


def choices() -> list[tuple[str, str]]:
    """Code and name of every country, by name."""
    return list(_named(str(reader_locale())))


def name(code: str) -> str:
    """A country's name; its code if the name is unknown."""
    return dict(_named(str(reader_locale()))).get(code, code)


def name_in_sentence(code: str) -> str:
    """A country's name as it stands after "to": "the Netherlands", in English."""
    has_article = code in WITH_ARTICLE and reader_locale().language == "en"
    return f"the {name(code)}" if has_article else name(code)


@lru_cache(maxsize=16)
def _named(locale: str) -> tuple[tuple[str, str], ...]:
    parsed = Locale.parse(locale)
    names = [
        (code, SHORT.get(code, {}).get(parsed.language, str(title)))
        for code, title in parsed.territories.items()
        if is_country(code)
    ]
    return tuple(sorted(names, key=lambda country: sorted_by(country[1])))


def sorted_by(title: str) -> str:
    """What a country's name is sorted by: accents come last in Unicode, and Éire would stand behind Zambia."""
    parts = unicodedata.normalize("NFKD", title.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
