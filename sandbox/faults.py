"""The faults that a test sets: the settings of each service, and the calls that hang."""

import asyncio
import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sandbox.answers import InvalidRequest

SERVICES = ("warehouse", "payments", "carrier")
FAULTY = (*SERVICES, "mail")
OF_ONE_SERVICE = {"stock": "warehouse", "unserved": "carrier"}
"""The faults that only one service can have."""
MOST_NAMED = 1_000
"""The most products or countries of one fault."""
LONGEST_LATENCY = 600_000
"""The longest latency that can be set, in milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """The faults of one service. Rates are probabilities from 0 to 1; latency is from low to high, in milliseconds."""

    latency_ms: tuple[float, float] = (0, 0)
    error_rate: float = 0
    error_status: int = 503
    hang_rate: float = 0
    lost_reply_rate: float = 0
    refuse_rate: float = 0
    down: bool = False
    keyless: bool = False
    """Keys are not recognised: a repeated call is done again."""
    stock: Mapping[str, int] = field(default_factory=dict)
    """How many the warehouse has left of these products, by SKU, when the fault is set: see `sandbox.stock`."""
    unserved: tuple[str, ...] = ()
    """The countries that the carrier does not go to."""

    def latency(self) -> float:
        """Draws how long a call takes, in seconds."""
        return random.uniform(*self.latency_ms) / 1000


def happens(rate: float) -> bool:
    """Draws once: true with probability `rate`."""
    return random.random() < rate


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_rate(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_range(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not all(_is_number(item) for item in value):
        return False
    return bool(0 <= value[0] <= value[1] <= LONGEST_LATENCY)


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599


def _is_stock(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) > MOST_NAMED:
        return False
    return all(
        isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in value.values()
    )


def _is_countries(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > MOST_NAMED:
        return False
    return all(isinstance(code, str) and re.fullmatch("[A-Z]{2}", code) for code in value)


RATE = (_is_rate, "a number from 0 to 1")
FLAG = (lambda value: isinstance(value, bool), "true or false")
ALLOWED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "latency_ms": (_is_range, f"[low, high] in milliseconds with 0 <= low <= high <= {LONGEST_LATENCY}"),
    "error_rate": RATE,
    "error_status": (_is_status, "a whole number from 400 to 599"),
    "hang_rate": RATE,
    "lost_reply_rate": RATE,
    "refuse_rate": RATE,
    "down": FLAG,
    "keyless": FLAG,
    "stock": (_is_stock, "{SKU: how many are left}"),
    "unserved": (_is_countries, 'country codes, such as ["IS"]'),
}


def fields_of(service: str) -> list[str]:
    """The faults that a service can have."""
    return [name for name in ALLOWED if OF_ONE_SERVICE.get(name, service) == service]


def change_faults(faults: Faults, raw: bytes, service: str) -> Faults:
    """`faults` with the fields of the JSON object `raw`. Raises `InvalidRequest` for a field that the service does not
    have, or an invalid value."""
    try:
        settings = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("invalid_json", "the body is not JSON") from error
    if not isinstance(settings, dict):
        raise InvalidRequest("invalid_faults", "the body is not a JSON object")
    for name, value in settings.items():
        if name not in fields_of(service):
            allowed = ", ".join(fields_of(service))
            raise InvalidRequest("unknown_field", f"unknown field {name!r:.80}; use {allowed}")
        is_allowed, allowed = ALLOWED[name]
        if not is_allowed(value):
            raise InvalidRequest(
                "invalid_value", f"{name}={json.dumps(value):.80} is not valid; expected {allowed}"
            )
    if "latency_ms" in settings:
        settings["latency_ms"] = tuple(settings["latency_ms"])
    if "unserved" in settings:
        settings["unserved"] = tuple(settings["unserved"])
    return replace(faults, **settings)


def _shown(service: str, faults: Faults) -> dict[str, Any]:
    shown = asdict(faults)
    return {name: shown[name] for name in fields_of(service)}


class FaultBoard:
    """The current faults, and the calls that hang. Kept in memory: a restarted sandbox has no faults."""

    def __init__(self) -> None:
        self._faults = dict.fromkeys(FAULTY, Faults())
        self._held: dict[asyncio.Future[None], None] = {}

    def __getitem__(self, service: str) -> Faults:
        return self._faults[service]

    def change(self, service: str, raw: bytes) -> dict[str, Any]:
        """Sets the fields of `raw`, all or none, and returns the current settings. Raises `InvalidRequest`."""
        self._faults[service] = change_faults(self._faults[service], raw, service)
        return _shown(service, self._faults[service])

    def show(self) -> dict[str, dict[str, Any]]:
        """The current settings, by service."""
        return {service: _shown(service, faults) for service, faults in self._faults.items()}

    def reset(self) -> None:
        """Removes all faults and releases the calls that hang, which then end without an answer."""
        self._faults = dict.fromkeys(FAULTY, Faults())
        for client_gone in self._held:
            if not client_gone.done():
                client_gone.set_result(None)

    async def hold(self, client_gone: asyncio.Future[None]) -> None:
        """Waits until the client has disconnected (`client_gone`) or the faults are reset."""
        self._held[client_gone] = None
        try:
            await client_gone
        finally:
            self._held.pop(client_gone, None)
