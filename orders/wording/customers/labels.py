"""How labels are written."""

from django.utils.translation import gettext as _


def labelled() -> str:
    """How a label stands before its text, with `{label}` and `{text}`: Chinese has a colon of its own, and no space."""
    return _("{label}: {text}")
