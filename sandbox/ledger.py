"""The ledger: one SQLite file, and every SQL statement of the sandbox but those of `sandbox.stock`.

answers  the first answer to each key, which a retry gets again
effects  what happened, one row per effect; `reversed_by` is the key of the call that reversed it
repeats  effects of a service that keeps no keys, beyond the first with a key
barred   forward keys whose reversal came first: they must never take effect
mail     every email that the sink accepted; `raw` is all of it, or null if an older sandbox stored it
"""

import json
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox import stock
from sandbox.answers import Answer

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    service TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (service, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS effects (
    id INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, key TEXT NOT NULL, operation TEXT NOT NULL,
    order_id TEXT NOT NULL, at TEXT NOT NULL, amount INTEGER, reversed_by TEXT,
    CONSTRAINT a_key_has_one_effect UNIQUE (service, key)
);
CREATE TABLE IF NOT EXISTS repeats (
    id INTEGER PRIMARY KEY AUTOINCREMENT, service TEXT NOT NULL, key TEXT NOT NULL, operation TEXT NOT NULL,
    order_id TEXT NOT NULL, at TEXT NOT NULL, amount INTEGER
);
CREATE TABLE IF NOT EXISTS barred (
    service TEXT NOT NULL, key TEXT NOT NULL, by_key TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (service, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mail (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL, sender TEXT NOT NULL, recipients TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, order_id TEXT NOT NULL, at TEXT NOT NULL, raw BLOB
);
"""

EFFECTS = """
SELECT CASE WHEN amount IS NULL
    THEN json_object('key', key, 'operation', operation, 'order_id', order_id, 'at', at)
    ELSE json_object('key', key, 'operation', operation, 'order_id', order_id, 'at', at, 'amount', amount) END
FROM (
    SELECT id, service, key, operation, order_id, at, amount FROM effects
    UNION ALL
    SELECT id, service, key, operation, order_id, at, amount FROM repeats
)
WHERE service = ? ORDER BY at, id
"""

EFFECTS_SINCE = """
SELECT at, id, json_object('key', key, 'operation', operation, 'order_id', order_id, 'at', at,
                           'reversed', json(CASE WHEN reversed_by IS NULL THEN 'false' ELSE 'true' END))
FROM (
    SELECT id, service, key, operation, order_id, at, reversed_by FROM effects
    UNION ALL
    SELECT r.id, r.service, r.key, r.operation, r.order_id, r.at, e.reversed_by
    FROM repeats AS r JOIN effects AS e ON e.service = r.service AND e.key = r.key
)
WHERE service = ? AND at >= ? AND (at, id) > (?, ?) ORDER BY at, id LIMIT ?
"""

MAIL = """
SELECT json_object('message_id', message_id, 'from', sender, 'to', json(recipients), 'subject', subject,
    'body', body, 'order_id', order_id, 'at', at)
FROM mail ORDER BY id
"""

MAILS = """
SELECT id, sender, recipients, subject, body, order_id, at, raw FROM mail
"""

LISTED = """
SELECT id, sender, recipients, subject, '', order_id, at, NULL FROM mail
WHERE id < ? AND (? = '' OR EXISTS (SELECT 1 FROM json_each(recipients) WHERE value = ? COLLATE NOCASE))
ORDER BY id DESC LIMIT ?
"""

RECIPIENTS = """
SELECT value FROM (SELECT id AS number, recipients FROM mail ORDER BY id DESC LIMIT 5000), json_each(recipients)
GROUP BY value ORDER BY max(number) DESC LIMIT ?
"""

PARCEL = """
SELECT created.order_id, created.at, voided.at
FROM answers AS a
JOIN effects AS created ON created.service = a.service AND created.key = a.key
LEFT JOIN effects AS voided ON voided.service = created.service AND voided.key = created.reversed_by
WHERE a.service = 'carrier' AND a.status < 300 AND json_extract(a.body, '$.tracking') = ?
"""

NEWEST = 2**62
"""A number above that of every email."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One effect. `amount` is in minor units."""

    operation: str
    order_id: str
    amount: int | None
    reversed_by: str | None


@dataclass(frozen=True, kw_only=True)
class Mail:
    """One email as the sink accepted it; `recipients` is a JSON array."""

    message_id: str
    sender: str
    recipients: str
    subject: str
    body: str
    order_id: str
    raw: bytes


@dataclass(frozen=True, kw_only=True)
class StoredMail:
    """One email in the ledger. A list has neither `body` nor `raw`, and what an older sandbox stored has no `raw`."""

    number: int
    sender: str
    recipients: list[str]
    subject: str
    body: str
    order_id: str
    at: str
    raw: bytes | None


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """What the carrier knows of a parcel. `voided_at` is empty unless it was voided."""

    order_id: str
    created_at: str
    voided_at: str


def connect(path: Path) -> sqlite3.Connection:
    """Opens the ledger's file. Raises `sqlite3.Error` when it cannot be used."""
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    # In WAL mode a commit is in the kernel's hands when it returns, so it outlives this process without a sync each
    # time.
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def make_tables(connection: sqlite3.Connection) -> None:
    """Creates the tables that are missing, and the column that an older ledger has not. Ends the faults of an earlier
    process."""
    connection.executescript(SCHEMA + stock.SCHEMA)
    connection.execute("DELETE FROM stock WHERE is_fault")
    columns = {row[1] for row in connection.execute("PRAGMA table_info(mail)")}
    if "raw" not in columns:
        connection.execute("ALTER TABLE mail ADD COLUMN raw BLOB")


def read_array(path: Path, service: str) -> str:
    """The effects of `service`, or every email, as one JSON array, newest last."""
    connection = connect(path)
    try:
        query, values = (MAIL, ()) if service == "mail" else (EFFECTS, (service,))
        return "[" + ",".join(row for (row,) in connection.execute(query, values)) + "]"
    finally:
        connection.close()


def read_effects(path: Path, service: str, *, since: str, after: str, most: int) -> str:
    """The oldest effects of `service` since that time and behind the cursor `after`, at most so many: a JSON object
    with the `effects`, and in `next` the cursor for those behind them, or null."""
    at, _, number = after.partition("/")
    connection = connect(path)
    try:
        rows = connection.execute(EFFECTS_SINCE, (service, since, at, int(number or 0), most + 1)).fetchall()
    finally:
        connection.close()
    page = rows[:most]
    following = f"{page[-1][0]}/{page[-1][1]}" if len(rows) > most else None
    return f'{{"effects": [{",".join(row[2] for row in page)}], "next": {json.dumps(following)}}}'


def list_mails(connection: sqlite3.Connection, *, to: str, before: int | None, most: int) -> list[StoredMail]:
    """The newest emails to that recipient, or to anybody, with a lower number than `before`; at most so many."""
    rows = connection.execute(LISTED, (NEWEST if before is None else before, to, to, most))
    return [_stored(row) for row in rows]


def list_recipients(connection: sqlite3.Connection, *, most: int) -> list[str]:
    """The recipients of the newest emails, each once, latest first."""
    return [value for (value,) in connection.execute(RECIPIENTS, (most,))]


def find_mail(connection: sqlite3.Connection, *, number: int) -> StoredMail | None:
    """The email with this number, if there is one."""
    row = connection.execute(MAILS + "WHERE id = ?", (number,)).fetchone()
    return row and _stored(row)


def find_parcel(connection: sqlite3.Connection, *, tracking: str) -> Parcel | None:
    """The parcel with this tracking number, if there is one."""
    row = connection.execute(PARCEL, (tracking,)).fetchone()
    return row and Parcel(order_id=row[0], created_at=row[1], voided_at=row[2] or "")


def _stored(row: tuple[Any, ...]) -> StoredMail:
    number, sender, recipients, subject, body, order_id, at, raw = row
    return StoredMail(
        number=number,
        sender=sender,
        recipients=json.loads(recipients),
        subject=subject,
        body=body,
        order_id=order_id,
        at=at,
        raw=raw,
    )


def is_answered(connection: sqlite3.Connection, service: str, key: str) -> bool:
    """Whether the first answer to `key` is committed."""
    query = "SELECT 1 FROM answers WHERE service = ? AND key = ?"
    return connection.execute(query, (service, key)).fetchone() is not None


def read_answer(connection: sqlite3.Connection, service: str, key: str) -> Answer | None:
    """The committed answer to `key`, if there is one."""
    query = "SELECT status, body FROM answers WHERE service = ? AND key = ?"
    row = connection.execute(query, (service, key)).fetchone()
    return row and Answer(status=row[0], body=row[1], is_recorded=True)


def now() -> str:
    """The current time, as `stamp` writes it."""
    return stamp(datetime.now(UTC))


def stamp(moment: datetime) -> str:
    """A moment as the ledger stores it: ISO 8601 in UTC, so that the later of two is the greater text."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Books:
    """The ledger inside one open transaction, limited to one service. The rows it adds count once that commits."""

    def __init__(self, connection: sqlite3.Connection, service: str) -> None:
        self._execute = connection.execute
        self._service = service

    def answer(self, key: str) -> tuple[str, Answer] | None:
        """The digest of the first call under `key`, and its answer; None if there was no call."""
        query = "SELECT digest, status, body FROM answers WHERE service = ? AND key = ?"
        row = self._execute(query, (self._service, key)).fetchone()
        return row and (row[0], Answer(status=row[1], body=row[2], is_recorded=True, replayed=True))

    def keep_answer(self, key: str, digest: str, answer: Answer) -> None:
        """Stores the first answer to `key`. A service that keeps no keys answers again: its first success stays."""
        query = """
            INSERT INTO answers VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET digest = excluded.digest, status = excluded.status, body = excluded.body
             WHERE answers.status >= 300
        """
        self._execute(query, (self._service, key, digest, answer.status, answer.body))

    def effect(self, key: str) -> Effect | None:
        """The effect under `key`, if there is one."""
        query = "SELECT operation, order_id, amount, reversed_by FROM effects WHERE service = ? AND key = ?"
        row = self._execute(query, (self._service, key)).fetchone()
        return row and Effect(operation=row[0], order_id=row[1], amount=row[2], reversed_by=row[3])

    def add_effect(self, key: str, operation: str, order_id: str, amount: int | None) -> None:
        """Stores an effect; as a repeat if the key has one already."""
        table = "effects" if self.effect(key) is None else "repeats"
        query = (
            f"INSERT INTO {table} (service, key, operation, order_id, at, amount) VALUES (?, ?, ?, ?, ?, ?)"
        )
        self._execute(query, (self._service, key, operation, order_id, now(), amount))

    def mark_reversed(self, key: str, by_key: str) -> None:
        """Notes that the call `by_key` reversed the effect of `key`."""
        query = "UPDATE effects SET reversed_by = ? WHERE service = ? AND key = ?"
        self._execute(query, (by_key, self._service, key))

    def is_barred(self, key: str) -> bool:
        """Whether a reversal of `key` came before it."""
        query = "SELECT 1 FROM barred WHERE service = ? AND key = ?"
        return self._execute(query, (self._service, key)).fetchone() is not None

    def bar(self, key: str, by_key: str) -> None:
        """Refuses `key` from now on. A second reversal changes nothing."""
        self._execute("INSERT OR IGNORE INTO barred VALUES (?, ?, ?, ?)", (self._service, key, by_key, now()))


def add_mail(connection: sqlite3.Connection, mail: Mail) -> None:
    """Stores an email."""
    connection.execute(
        "INSERT INTO mail (message_id, sender, recipients, subject, body, order_id, at, raw)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            mail.message_id,
            mail.sender,
            mail.recipients,
            mail.subject,
            mail.body,
            mail.order_id,
            now(),
            mail.raw,
        ),
    )
