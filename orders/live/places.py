"""How many streams there may be in one web process: altogether, for one reader, for one order, from one address; and
how many requests of the API are held.

Without these limits somebody with a few orders could hold all of a process's streams, and nobody else would get any.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Numbers of streams. `address` leaves room for an office, whose browsers share an IP address."""

    total: int = 1100
    operators: int = 100
    """Of the total, those that only operators may have."""
    reader: int = 6
    order: int = 24
    address: int = 60


class Reader(NamedTuple):
    """Whose streams are counted together: an order's followers at one IP address, or one operator, without one."""

    follower: str
    address: str | None


class Place:
    """One stream's place. `leave` is called when the stream has to end; whoever takes the place sets it at once."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.leave: Callable[[], None] = lambda: None
        self.is_held = True


class Places:
    """All places of a process. Call it in the event loop."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._held: dict[Reader, list[Place]] = {}
        self._counts: Counter[str] = Counter()

    def take(self, reader: Reader) -> Place | None:
        """Takes a place. If there is none, the reader's oldest stream has to leave; None if the reader has none.

        A new stream is usually the better one: the old ones may belong to connections that are lost.
        """
        if self._is_full(reader):
            if reader not in self._held:
                return None
            oldest = self._held[reader][0]
            self.give_back(oldest)
            oldest.leave()
        place = Place(reader)
        self._held.setdefault(reader, []).append(place)
        self._counts.update(self._limits(reader).keys())
        return place

    def give_back(self, place: Place) -> None:
        """Gives a place back. Does nothing if that was done before."""
        if not place.is_held:
            return
        place.is_held = False
        others = self._held[place.reader]
        others.remove(place)
        if not others:
            del self._held[place.reader]
        self._counts -= Counter(self._limits(place.reader).keys())

    def _is_full(self, reader: Reader) -> bool:
        if len(self._held.get(reader, ())) >= self._caps.reader:
            return True
        return any(self._counts[name] >= most for name, most in self._limits(reader).items())

    def _limits(self, reader: Reader) -> Mapping[str, int]:
        """What a reader's streams count for, and how many each of these may have. Operators only count as readers."""
        if reader.address is None:
            return {}
        return {reader.follower: self._caps.order, f"address:{reader.address}": self._caps.address}


@dataclass(frozen=True, kw_only=True)
class RoomCaps:
    """How many of the API's requests are held: altogether, and of one account or from one IP address."""

    total: int = 1000
    share: int = 250


class Room:
    """The requests that are held. Call it in the event loop."""

    def __init__(self, caps: RoomCaps) -> None:
        self._caps = caps
        self._held = 0
        self._shares: Counter[str] = Counter()

    def enter(self, clients: Sequence[str]) -> bool:
        """Takes one place, which counts for each of these clients. False if there is none."""
        is_full = self._held >= self._caps.total
        if is_full or any(self._shares[client] >= self._caps.share for client in clients):
            return False
        self._held += 1
        self._shares.update(clients)
        return True

    def leave(self, clients: Sequence[str]) -> None:
        """Gives one place back."""
        self._held -= 1
        self._shares -= Counter(clients)  # drops the zero counts, too
