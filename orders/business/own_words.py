"""A client's own words for an order: its reference and its metadata. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orders.business.reading import BadOrderError, read_lines, read_object, read_text
from orders.engine.contracts import Json

LONGEST_REFERENCE = 120
MOST_METADATA = 20
LONGEST_NAME, LONGEST_VALUE = 40, 500
"""In characters: of the name and the value of each of an order's metadata."""


@dataclass(frozen=True, kw_only=True)
class OwnWords:
    """What a client calls an order, and the texts that it keeps with it, by their names. Either may be empty."""

    reference: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def reference_hash(self) -> str | None:
        """A hash of the reference; None if there is none."""
        words = self.reference.encode("utf-8", "surrogatepass")  # what cannot be stored is refused elsewhere
        return hashlib.sha256(words).hexdigest() if words else None

    @property
    def given(self) -> dict[str, Any]:
        """Those that are not empty, by their names."""
        reference = {"reference": self.reference} if self.reference else {}
        return {**reference, "metadata": dict(self.metadata)} if self.metadata else reference


NO_WORDS = OwnWords()


def read_words(order: Json) -> OwnWords:
    """Reads `reference` and `metadata` of a submission, which may lack them. Raises `BadOrderError`."""
    reference, metadata = order.get("reference"), order.get("metadata")
    return OwnWords(
        reference=read_text(reference, "reference", LONGEST_REFERENCE) if reference not in (None, "") else "",
        metadata={} if metadata is None else _read_metadata(metadata),
    )


def _read_metadata(value: object) -> dict[str, str]:
    metadata = read_object(value, "metadata")
    if len(metadata) > MOST_METADATA:
        raise BadOrderError(
            f"metadata must be at most {MOST_METADATA} texts, not {len(metadata)}.", where="metadata"
        )
    return {
        read_text(name, "a name in metadata", LONGEST_NAME): read_lines(text, "metadata", LONGEST_VALUE)
        for name, text in metadata.items()
    }
