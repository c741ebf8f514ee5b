"""What a mutant is."""

from dataclasses import dataclass

ENGINE = "orders/engine"
CHANNELS = f"{ENGINE}/channels"
ROW_LOCK = "FOR NO KEY UPDATE OF p SKIP LOCKED"
"""How a scheduler locks the orders `p` that it takes."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """`old` is in the file `path` once, and is replaced by `new`; `test` must then fail."""

    name: str
    path: str
    old: str
    new: str
    test: str
