"""A valid body for each operation, and the operations in pairs."""

from dataclasses import dataclass
from typing import Any

from tests.support.order_bodies import PARIS

LINES = [{"sku": "poster-1", "quantity": 2}]


def reserve(order_id: str = "o-1") -> dict[str, Any]:
    return {"order_id": order_id, "lines": LINES}


def authorise(method: str = "card_ok", order_id: str = "o-1") -> dict[str, Any]:
    return {"order_id": order_id, "amount": 4200, "currency": "EUR", "payment_method": method}


def capture(order_id: str = "o-1") -> dict[str, Any]:
    return {"order_id": order_id, "amount": 4200, "currency": "EUR", "authorisation": "auth_1"}


def create(order_id: str = "o-1") -> dict[str, Any]:
    return {"order_id": order_id, "ship_to": PARIS, "lines": LINES}


def reversal_of(forward_key: str, order_id: str = "o-1") -> dict[str, Any]:
    return {"order_id": order_id, "reverses": forward_key}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A forward operation and its reversal. `gives` are the names in the forward answer, `done` is the name in the
    reversal's answer."""

    service: str
    forward: str
    body: dict[str, Any]
    gives: dict[str, str]
    reversal: str
    done: str
    amount: int | None = None

    @property
    def forward_path(self) -> str:
        return f"/{self.service}/{self.forward}"

    @property
    def reversal_path(self) -> str:
        return f"/{self.service}/{self.reversal}"


PAIRS = [
    Pair(
        service="warehouse", forward="reserve", body=reserve(), gives={"reservation": "rsv_"},
        reversal="release", done="released",
    ),
    Pair(
        service="payments", forward="authorise", body=authorise(), gives={"authorisation": "auth_"},
        reversal="void", done="voided", amount=4200,
    ),
    Pair(
        service="payments", forward="capture", body=capture(), gives={"capture": "cap_"},
        reversal="refund", done="refunded", amount=4200,
    ),
    Pair(
        service="carrier", forward="create", body=create(), gives={"shipment": "shp_", "tracking": "trk_"},
        reversal="cancel", done="cancelled",
    ),
]  # fmt: skip
