"""What customers read of a product of which there are fewer than they ordered."""

from django.utils.translation import gettext, ngettext


def shortage(*, title: str, stock: int, ordered: int) -> str:
    """Says how many are left, and how many were ordered."""
    if not stock:
        return gettext("“{title}” has sold out.").format(title=title)
    words = ngettext(
        "Only {left} of “{title}” is left, and you ordered {ordered}.",
        "Only {left} of “{title}” are left, and you ordered {ordered}.",
        stock,
    )
    return words.format(left=stock, title=title, ordered=ordered)
