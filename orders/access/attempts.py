"""Which sending of a form a request is, so that one that met an outage does its work once when it comes again.

Nobody knows for certain whether a form that met an outage was stored. So what it does is stored with a key of its own,
made when the form comes for the first time. The page that sends it again (`orders.access.outage_page`) has that key in
a hidden field.
"""

import re
import uuid
from typing import Final

from django.http import HttpRequest

ATTEMPT: Final = "attempt"
"""The hidden field with the key."""

_KEY = re.compile(r"[0-9a-f]{32}")
_OWN = "_attempt"
"""Attribute of a request that has come for the first time: its key."""


def attempt_of(request: HttpRequest) -> str:
    """The key of a form that was sent: that of its first time, if this is another."""
    if is_repeated(request):
        return request.POST[ATTEMPT]
    if not hasattr(request, _OWN):
        setattr(request, _OWN, uuid.uuid4().hex)
    key: str = getattr(request, _OWN)
    return key


def is_repeated(request: HttpRequest) -> bool:
    """Whether the form comes again after an outage."""
    return _KEY.fullmatch(request.POST.get(ATTEMPT, "")) is not None
