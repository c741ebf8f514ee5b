"""Verifies the audit log: that its chain is whole, and that every entry says what the chain has sealed."""

from collections.abc import Iterator
from dataclasses import dataclass

from orders.engine.runtime.sql import fetch

BATCH = 2_000
"""Links, or entries, that one statement examines."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """The last link of a chain, or one that was the last at some time. Its hash covers everything before it."""

    position: int
    hash: str

    def __str__(self) -> str:
        return f"{self.position}:{self.hash}"


@dataclass(frozen=True, kw_only=True)
class Misfit:
    """The first entry that is not what was written, and how; `entry` is None when nothing is left of it."""

    entry: int | None
    problem: str

    def __str__(self) -> str:
        return self.problem if self.entry is None else f"entry {self.entry} {self.problem}"


# The hashes are written out, in PostgreSQL's own functions: whoever can change links can also replace the functions
# that made them (migration 0039).
_LINKS = """
    SELECT place, entry, problem FROM (
        SELECT place, link.entry, CASE
            WHEN link.position IS NULL THEN 'is missing'
            WHEN link.hash <> sha256(coalesce(earlier.hash, '')
                                     || int8send(place) || int8send(link.entry) || link.digest)
                THEN 'does not follow from the entries before it'
            WHEN link.salt IS NULL AND 0 < (SELECT count(*) FILTER (WHERE later.position > link.position)
                                              FROM orders_auditlink AS later WHERE later.entry = link.entry) THEN NULL
            WHEN written.id IS NULL THEN 'was deleted'
            WHEN link.salt IS NULL OR link.digest <> sha256(convert_to(jsonb_build_array(
                link.salt, written.id, extract(epoch FROM written.at), written.actor, written.ip_address, written.act,
                written.target, written.allowed, written.result, written.reason, written.before, written.after
                )::text, 'UTF8')) THEN 'was changed'
            END AS problem
          FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS place
          LEFT JOIN orders_auditlink AS link ON link.position = place
          LEFT JOIN orders_auditlink AS earlier ON earlier.position = place - 1
          LEFT JOIN orders_auditentry AS written ON written.id = link.entry
    ) AS examined WHERE problem IS NOT NULL ORDER BY place LIMIT 1
"""
_UNLINKED = """
    SELECT min(id) FROM orders_auditentry AS entry
     WHERE id BETWEEN %s AND %s AND NOT EXISTS (SELECT FROM orders_auditlink AS link WHERE link.entry = entry.id)
"""


def read_head() -> Head:
    """The last link; position 0 and no hash while there is none."""
    rows = fetch("SELECT position, encode(hash, 'hex') FROM orders_auditlink ORDER BY position DESC LIMIT 1")
    return Head(position=rows[0][0], hash=rows[0][1]) if rows else Head(position=0, hash="")


def has_link(head: Head) -> bool:
    """Whether this link, which was the last at some time, is still in the chain."""
    rows = fetch("SELECT encode(hash, 'hex') FROM orders_auditlink WHERE position = %s", [head.position])
    return rows == [(head.hash,)] or head == Head(position=0, hash="")


def find_misfit(head: Head) -> Misfit | None:
    """The first entry, in the order of the chain up to `head`, that does not fit; then one that was slipped in."""
    for first, last in _batches(1, head.position):
        if rows := fetch(_LINKS, {"first": first, "last": last}):
            place, entry, problem = rows[0]
            return Misfit(entry=entry, problem=problem if entry else f"link {place} {problem}")
    (ends,) = fetch("SELECT coalesce(min(id), 1), coalesce(max(id), 0) FROM orders_auditentry")
    for first, last in _batches(*ends):
        ((entry,),) = fetch(_UNLINKED, [first, last])
        if entry is not None:
            return Misfit(entry=entry, problem="has no link")
    return None


def count_entries(head: Head) -> int:
    """How many entries the chain up to `head` seals. There are fewer than links, if an erasure has changed any."""
    counts = fetch("SELECT count(DISTINCT entry) FROM orders_auditlink WHERE position <= %s", [head.position])
    return int(counts[0][0])


def count_amended() -> int:
    """How many entries an erasure has changed since they were written."""
    return int(fetch("SELECT count(DISTINCT entry) FROM orders_auditlink WHERE salt IS NULL")[0][0])


def may_unprotect() -> bool:
    """Whether the role of this connection could remove the protection of the log, because it owns it."""
    owner = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'orders_auditentry'::regclass"
    return bool(fetch(owner)[0][0])


def _batches(first: int, last: int) -> Iterator[tuple[int, int]]:
    for start in range(first, last + 1, BATCH):
        yield start, min(start + BATCH - 1, last)
