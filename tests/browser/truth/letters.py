"""Takes the emails that arrived apart, into what they say."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tests.browser.truth.moments import Moment, Words

READING = 2.0
"""Seconds from the moment when an order is read for an email to the one when the email arrives, at most."""
NUMBER = re.compile(r" \([0-9A-Z -]+\)$")
"""The number of the order at the end of a subject."""


def moment_of(email: Mapping[str, Any]) -> Moment:
    """What an email of the sandbox's ledger says."""
    at = seconds(email["at"])
    words = [Words(text=NUMBER.sub("", email["subject"]), where="subject"), *_words(email["body"])]
    return Moment(source=f"email “{email['subject']}”", since=at - READING, until=at, words=words)


def seconds(text: str) -> float:
    """A moment of a ledger in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def _words(body: str) -> Iterator[Words]:
    for paragraph in body.split("\n\n"):
        if re.match(r"\s*https?://", paragraph):
            continue
        for line in paragraph.splitlines():
            label, _, value = line.strip().partition(":")
            if line.startswith("  Total:"):
                yield Words(text=value.strip(), where="total")
            elif line.startswith("  "):  # a line of the order, or the rest of an address
                continue
            elif re.match(
                r"(Order number|Ships to|Tracking number|Should arrive|Receipt|Delivery|Email|Gift note .+)$",
                label,
            ):
                yield Words(text=label, where="mail label")
            else:
                yield Words(text=line.strip().removesuffix(":"), where="mail")
