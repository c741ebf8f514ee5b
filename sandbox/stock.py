"""What the warehouse counts: how many are left of a product, and the numbers of a numbered edition.

It counts what a fault or the file of its first stock names, and every numbered edition. Everything else is printed to
order. These are the statements and tables that belong to it, in the same ledger:

stock     how many are left; what a fault says goes before what the first stock has left
editions  how many numbers each edition has
numbers   the numbers that are given away, and the key that has each; no key has those of the first stock
reserved  how many of a counted product each key has
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.answers import Answer, bad
from sandbox.operations import Call

MADE_AT_ONCE = 900
"""How many one order may have of a product that is printed to order."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS stock (
    sku TEXT NOT NULL, is_fault INTEGER NOT NULL, quantity INTEGER NOT NULL, PRIMARY KEY (sku, is_fault)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS editions (sku TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbers (
    sku TEXT NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL,
    CONSTRAINT a_number_is_given_once PRIMARY KEY (sku, number)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS numbers_by_key ON numbers (key);
CREATE TABLE IF NOT EXISTS reserved (key TEXT NOT NULL, sku TEXT NOT NULL, quantity INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS reserved_by_key ON reserved (key);
"""

LEFT = """
SELECT sku, max(0, min(coalesce(quantity, free), coalesce(free, quantity))) FROM (
    SELECT sku,
           (SELECT quantity FROM stock WHERE stock.sku = counted.sku ORDER BY is_fault DESC LIMIT 1) AS quantity,
           (SELECT size - (SELECT count(*) FROM numbers WHERE numbers.sku = editions.sku)
              FROM editions WHERE editions.sku = counted.sku) AS free
      FROM (SELECT sku FROM stock UNION SELECT sku FROM editions) AS counted
)
"""

FREE_NUMBERS = """
WITH RECURSIVE every (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM every WHERE number < :size)
SELECT number FROM every
 WHERE number NOT IN (SELECT number FROM numbers WHERE sku = :sku) LIMIT :most
"""
"""The recursion gives the lowest first, and goes no further than it must."""


class Shelves:
    """The stock inside one open transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def refusal(self, call: Call) -> Answer | None:
        """The refusal of a call that wants more than there is; None if there is enough."""
        for sku, size in call.editions.items():
            self._know_edition(sku, size)
        stock = {sku: self._left(sku) for sku in call.quantities}
        short = [
            {"sku": sku, "left": stock[sku]} for sku, number in call.quantities.items() if number > stock[sku]
        ]
        if not short:
            return None
        names = ", ".join(f"{line['left']} of {line['sku']!r:.80}" for line in short)
        return bad(422, "sold_out", f"not enough in stock: there are {names}", {"lines": short})

    def take(self, call: Call) -> Mapping[str, Any]:
        """Takes what a call reserves, of which there is enough. Returns what the answer says of its numbers."""
        for sku, quantity in call.quantities.items():
            if self._row(sku) is not None:
                self._execute("UPDATE stock SET quantity = quantity - ? WHERE sku = ?", (quantity, sku))
                self._execute("INSERT INTO reserved VALUES (?, ?, ?)", (call.key, sku, quantity))
        editions = [
            {"sku": sku, "numbers": self._give_numbers(call, sku, size), "of": size}
            for sku, size in call.editions.items()
        ]
        return {"editions": editions} if editions else {}

    def put_back(self, key: str) -> None:
        """Puts back what the call with this key has taken."""
        taken = self._execute("SELECT sku, quantity FROM reserved WHERE key = ?", (key,)).fetchall()
        for sku, quantity in taken:
            self._execute("UPDATE stock SET quantity = quantity + ? WHERE sku = ?", (quantity, sku))
        self._execute("DELETE FROM reserved WHERE key = ?", (key,))
        self._execute("DELETE FROM numbers WHERE key = ?", (key,))

    def put_in(self, sku: str, *, number: int, size: int | None) -> None:
        """Puts in the first stock of a product, or of an edition of that size, unless the warehouse has it already."""
        if self._row(sku) is not None:
            return
        if size is None:
            self._execute("INSERT INTO stock VALUES (?, 0, ?)", (sku, number))
            return
        self._know_edition(sku, size)
        for sold_number in range(1, size - number + 1):
            self._execute("INSERT INTO numbers VALUES (?, ?, '')", (sku, sold_number))

    def _know_edition(self, sku: str, size: int) -> None:
        query = "INSERT INTO editions VALUES (?, ?) ON CONFLICT DO UPDATE SET size = excluded.size"
        self._execute(query, (sku, size))

    def _row(self, sku: str) -> tuple[str, int] | None:
        row: tuple[str, int] | None = self._execute(f"{LEFT} WHERE sku = ?", (sku,)).fetchone()
        return row

    def _left(self, sku: str) -> int:
        row = self._row(sku)
        return MADE_AT_ONCE if row is None else row[1]

    def _give_numbers(self, call: Call, sku: str, size: int) -> list[int]:
        values = {"sku": sku, "size": size, "most": call.quantities[sku]}
        numbers = [number for (number,) in self._execute(FREE_NUMBERS, values)]
        for number in numbers:
            self._execute("INSERT INTO numbers VALUES (?, ?, ?)", (sku, number, call.key))
        return numbers


def read_first_stock(path: Path) -> Mapping[str, tuple[int, int | None]]:
    """What the warehouse has when it opens: how many are left, and the size of the edition, by SKU.

    The file is `{SKU: {"left": 3, "of": 25}}`, with `of` for an edition of which the other numbers are sold; there may
    be none. Raises `ValueError` and `OSError`.
    """
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    try:
        return {sku: (int(item["left"]), item.get("of")) for sku, item in content.items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError('it must be {SKU: {"left": 3, "of": 25}}') from error


def put_in(connection: sqlite3.Connection, products: Mapping[str, tuple[int, int | None]]) -> None:
    """Puts in what the warehouse does not have yet of its first stock."""
    shelves = Shelves(connection)
    for sku, (number, size) in products.items():
        shelves.put_in(sku, number=number, size=size)


def set_faults(connection: sqlite3.Connection, stock: Mapping[str, int]) -> None:
    """Sets what is left now of each product that a fault names."""
    connection.execute("DELETE FROM stock WHERE is_fault")
    for sku, number in stock.items():
        connection.execute("INSERT INTO stock VALUES (?, 1, ?)", (sku, number))


def read_faults(connection: sqlite3.Connection) -> Mapping[str, int]:
    """What is left since of each product that a fault names."""
    return dict(connection.execute("SELECT sku, quantity FROM stock WHERE is_fault"))


def read_page(connection: sqlite3.Connection, *, after: str, most: int) -> Mapping[str, Any]:
    """What is left of each product behind the SKU `after`, at most so many, and in `next` the last SKU, if more
    follow."""
    rows = connection.execute(f"{LEFT} WHERE sku > ? ORDER BY sku LIMIT ?", (after, most + 1)).fetchall()
    page: Sequence[tuple[str, int]] = rows[:most]
    following = page[-1][0] if len(rows) > most else None
    return {"stock": [{"sku": sku, "left": number} for sku, number in page], "next": following}
