"""The versions of the REST API, by their dates: the one place that says what each changed, and when it ends.

A token is pinned to the version that was the newest when it was created, and a request may name another one. Where a
version changes something, the code asks `request.api_version` for it; additions need no version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils.http import http_date

HEADER = "API-Version"


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version of the API. `changes` says what differs from the version before it, for its clients. Once it has been
    announced that it goes, `deprecated_at` is since when nobody should use it, and `ends_at` when it is refused."""

    name: str
    changes: str
    deprecated_at: datetime | None = None
    ends_at: datetime | None = None

    def has_ended(self, now: datetime) -> bool:
        """Whether it is refused."""
        return self.ends_at is not None and self.ends_at <= now

    def headers(self) -> Mapping[str, str]:
        """What each answer of this version says of it: its name, and if it goes, since when it is deprecated (RFC 9745)
        and when it ends (RFC 8594)."""
        headers, relations = {HEADER: self.name}, []
        if self.deprecated_at:
            headers["Deprecation"] = f"@{self.deprecated_at.timestamp():.0f}"
            relations.append("deprecation")
        if self.ends_at:
            headers["Sunset"] = http_date(self.ends_at.timestamp())
            relations.append("sunset")
        if relations:
            page = f"{settings.CONFIG.public_url}/api/docs/"
            headers["Link"] = ", ".join(f'<{page}>; rel="{name}"; type="text/html"' for name in relations)
        return headers


VERSIONS: tuple[Version, ...] = (
    Version(name="2026-11-26", changes="The first version that has a date."),
    Version(
        name="2026-11-28",
        changes=(
            "An order or a quote whose `ship_to.postal_code` cannot be one of its country is refused, with an example "
            "of what fits; earlier versions take any code. A `size` of products in another form than `30x40` is "
            "refused, too; in earlier versions it finds nothing."
        ),
    ),
)
"""All versions, the oldest first. The newest is never deprecated. One that has ended stays for a while, so that its
clients are told that it has."""


def newest() -> Version:
    """The version that new tokens are pinned to, and that answers whoever has no token."""
    return VERSIONS[-1]


def find_version(name: str) -> Version | None:
    """The version of this name, which may have ended."""
    return next((version for version in VERSIONS if version.name == name), None)


def supported(now: datetime) -> tuple[Version, ...]:
    """The versions that have not ended, the oldest first."""
    return tuple(version for version in VERSIONS if not version.has_ended(now))
