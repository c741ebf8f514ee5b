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
TOTAL = "Total: "


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
        if re.match(r"  \d+ × ", paragraph):
            yield from _ordered(paragraph)
            continue
        for line in paragraph.splitlines():
            label = line.strip().partition(":")[0]
            if line.startswith("  "):  # the rest of an address
                continue
            elif re.match(
                r"(Order number|Ships to|Tracking number|Should arrive|Receipt|Delivery|Email|Gift note .+)$",
                label,
            ):
                yield Words(text=label, where="mail label")
            else:
                yield Words(text=line.strip().removesuffix(":"), where="mail")


def _ordered(paragraph: str) -> Iterator[Words]:
    """What an order is of, and the rows of its sum, which stand below its lines."""
    lines = [line.removeprefix("  ") for line in paragraph.splitlines()]
    lines = [line for line in lines if not line.startswith("    ")]  # the details of a line
    items = [line for line in lines if re.match(r"\d+ × ", line)]
    rows = [line for line in lines if line not in items]
    yield Words(text="; ".join(items), where="lines")
    totals = [row.removeprefix(TOTAL) for row in rows if row.startswith(TOTAL)]
    yield from (Words(text=total, where="total") for total in totals)
    yield Words(text="; ".join(rows), where="sums")
