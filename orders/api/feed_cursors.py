"""Cursors of the feed of changes: a point of it, and what tells whether the point still means something."""

import hashlib
import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import NamedTuple

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.selectors.changes import LAST_POSITION, Epoch, FeedPoint

_FORM = struct.Struct(">8sQQI")
PATTERN = "[A-Za-z0-9_-]{37}[AQgw]"
LATEST = "latest"
"""In place of a cursor: where a reader begins who wants only what happens from now on."""


class FeedCursor(NamedTuple):
    """A point of the feed, the server that gave it, and when it did, in seconds since 1970."""

    point: FeedPoint
    server: bytes
    given_at: int

    def __str__(self) -> str:
        return urlsafe_b64encode(_FORM.pack(self.server, *self.point, self.given_at)).rstrip(b"=").decode()

    @property
    def time(self) -> datetime:
        """When it was given."""
        return datetime.fromtimestamp(self.given_at, UTC)

    def is_of(self, epoch: Epoch) -> bool:
        """Whether positions have followed one another without a break since the cursor was given."""
        return self.server == _server(epoch)


def cursor_at(point: FeedPoint, epoch: Epoch, *, now: datetime) -> FeedCursor:
    """The cursor of a reader who is at this point now."""
    return FeedCursor(point, _server(epoch), int(now.timestamp()))


def _server(epoch: Epoch) -> bytes:
    return hashlib.sha256(f"{epoch.number} {epoch.cluster}".encode()).digest()[:8]


@extend_schema_field({"type": "string", "pattern": f"^({PATTERN}|{LATEST})$"})
class FeedCursorField(serializers.Field[FeedCursor | str, str, str, object]):
    """A cursor in a query parameter, or `LATEST`."""

    default_error_messages = {
        "invalid": f"This is not a cursor of changes. Take it as it was given to you, or begin with `{LATEST}`."
    }

    def to_internal_value(self, data: str) -> FeedCursor | str:
        if data == LATEST:
            return data
        if not re.fullmatch(PATTERN, data):
            self.fail("invalid")
        server, position, event_id, given_at = _FORM.unpack(urlsafe_b64decode(f"{data}=="))
        point = FeedPoint(min(position, LAST_POSITION), min(event_id, LAST_POSITION))
        return FeedCursor(point, server, given_at)
