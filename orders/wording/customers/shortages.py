"""What customers read of a product of which there are fewer than they ordered."""

from django.utils.translation import gettext, ngettext


def shortage(*, title: str, left: int, ordered: int) -> str:
    """Says how many are left, and how many were ordered."""
    if not left:
        return gettext("“{title}” has sold out.").format(title=title)
    words = ngettext(
        "Only {left} of “{title}” is left, and you ordered {ordered}.",
        "Only {left} of “{title}” are left, and you ordered {ordered}.",
        left,
    )
    return words.format(left=left, title=title, ordered=ordered)
