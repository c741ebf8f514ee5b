"""Whether a customer sees an order's page: then she is not told by email what is on it.

A request for the page does not say so, as a browser may open it in a tab in the background. Once it is in front of her,
`static/js/live.js` fetches the part of it that changes, and a browser without scripts a picture with nothing in it.
"""

from django.http import HttpRequest

VISIBLE = "Page-Visible"
"""The header with which `static/js/live.js` says that the page is in front of its reader: "yes"."""


def sees_without_scripts(request: HttpRequest) -> bool:
    """Whether the picture is fetched for a page that is shown, and not for one that is fetched in case it is wanted."""
    purpose = request.headers.get("Sec-Purpose") or request.headers.get("Purpose") or ""
    return request.method == "GET" and "prefetch" not in purpose and "prerender" not in purpose


def sees_part(request: HttpRequest) -> bool:
    """Whether the part of a page that changes is shown. A hidden tab goes on fetching it for a while."""
    return sees_without_scripts(request) and request.headers.get(VISIBLE) == "yes"
