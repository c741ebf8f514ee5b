"""One line of text, such as a name, a street or a reason."""

import re
import unicodedata

BREAKING_CATEGORIES = frozenset({"Cc", "Zl", "Zp", "Cs"})
"""Unicode categories of control characters, line and paragraph separators, and surrogates."""


def is_one_line(text: str) -> bool:
    """Whether a text has no line breaks and no other control characters."""
    if text.isprintable():  # nearly always; it is in C, and nothing in it is in one of these categories
        return True
    return not any(unicodedata.category(character) in BREAKING_CATEGORIES for character in text)


_ENDINGS = (
    "com|net|org|info|biz|app|dev|shop|store|online|site|website|xyz|top|club|link|click|live|page|pro|vip|win|fun|bid"
    "|blog|news|tech|space|host|cloud|zip|world|today|deals|gift|bet|casino|loan"
    "|ai|cc|cn|co|eu|gg|io|ly|me|pw|ru|su|tk|tv|uk|us"
)
"""Those that strangers like, and that nobody writes after a dot in a postal address: unlike St, Nr, No, Li and de."""
_WEB_ADDRESS = re.compile(
    rf"""
      :// | \bwww\.
    | \b[a-z0-9-]{{3,}}\.(?:{_ENDINGS})\b       # what mail programs turn into a link
    | \b[a-z0-9-]+\.[a-z]{{2,}}/\S              # a host and a path
    """,
    re.IGNORECASE | re.VERBOSE,
)


def has_web_address(text: str) -> bool:
    """Whether a text has the url of a page in it, or what a mail program would take for one.

    We send emails to people whose addresses strangers enter, and a name must not be an advertisement.
    """
    readable = unicodedata.normalize("NFKC", text).replace("。", ".")  # which browsers take for a dot, too
    return _WEB_ADDRESS.search(readable) is not None
