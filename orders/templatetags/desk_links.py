"""{% target_link entry.target %} – what an entry of the audit log is about, as a link to its page if it has one."""

import re
from collections.abc import Callable, Mapping
from uuid import UUID

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from orders.fields.numbers import read_whole_number

register = template.Library()


def _order(name: str) -> str:
    try:
        return reverse("console:order", args=[UUID(name)])
    except ValueError:
        return ""


def _numbered(url_name: str) -> Callable[[str], str]:
    def url(name: str) -> str:
        number = read_whole_number(name)
        return "" if number is None else reverse(url_name, args=[number])

    return url


def _list(url_name: str, *, named: bool = False) -> Callable[[str], str]:
    return lambda name: reverse(url_name) + (f"#{name}" if named else "")


PAGES: Mapping[str, Callable[[str], str]] = {
    "order": _order,
    "group": _numbered("console:group"),
    "bulk": _numbered("console:bulk"),
    "agent": _list("console:agents", named=True),
    "token": _list("console:tokens"),
    "message": _list("console:outbox"),
    "submission": _list("console:set-aside"),
    "workflow": _list("console:workflow"),
    "intake": _list("console:pauses"),
    "step": _list("console:pauses"),
}
"""The page of each kind of target, by the word that its name begins with."""
ACCOUNT = re.compile(r"[\w.@+-]+")
"""A target of one word is an account."""


@register.simple_tag
def target_link(target: str) -> SafeString:
    """A link to what an act was about. An account leads to everything that was done to it."""
    kind, _, name = target.partition(" ")
    url = PAGES[kind](name) if name and kind in PAGES else ""
    if not url and ACCOUNT.fullmatch(target):
        url = f"{reverse('console:audit')}?{urlencode({'target': target})}"
    if not url:
        return format_html('<span class="break">{}</span>', target)
    return format_html('<a class="break" href="{}">{}</a>', url, target)
