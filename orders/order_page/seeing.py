"""Whether a customer sees the answer to a request: then she is not told by email what is on it."""

from django.http import HttpRequest

VISIBLE = "Page-Visible"
"""The header with which `static/js/live.js` says that the page is in front of its reader: "yes"."""


def sees_page(request: HttpRequest) -> bool:
    """Whether a whole page is shown: not one that a browser fetches in case it is wanted, nor one without its text."""
    purpose = request.headers.get("Sec-Purpose") or request.headers.get("Purpose") or ""
    return request.method == "GET" and "prefetch" not in purpose and "prerender" not in purpose


def sees_part(request: HttpRequest) -> bool:
    """Whether the part of a page that changes is shown. A hidden tab goes on fetching it for a while."""
    return sees_page(request) and request.headers.get(VISIBLE) == "yes"
