"""Orders of the shop in any state, and helpers for what a customer does."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.access.guest_links import make_token
from orders.models import Event, OrderLine, OrderProcess
from orders.shop.fulfilment import fulfil_order
from orders.shop.time_limits import TimeLimits
from tests.support.factories import make_order, make_purchase
from tests.support.order_bodies import EMAIL, LONDON
from tests.support.people import signed_in

FULFIL = fulfil_order(TimeLimits())
STEPS = tuple(FULFIL.by_name)
FORM: dict[str, str] = {**LONDON, "email": EMAIL, "payment_method": "card_ok"}


def done(*names: str) -> dict[str, Any]:
    """These steps, completed a moment ago."""
    return {name: {"state": "completed", "completed_at": timezone.now()} for name in names}


def declined(**fields: Any) -> dict[str, Any]:
    """A payment that waits for its customer."""
    error = {"code": "card_declined", "message": "no", "waits_for": "customer"}
    return {"state": "failed", "error": error, "not_before": timezone.now() + timedelta(hours=1), **fields}


def shop_order(
    steps: Mapping[str, Any] | None = None,
    *,
    customer: User | None = None,
    email: str = EMAIL,
    age: float = 5,
    title: str = "Tidal Lines",
    **process: Any,
) -> OrderProcess:
    """An order of one print in the state that these steps and fields of the process describe."""
    stored = make_order(steps, workflow=FULFIL, **process)
    placed_at = timezone.now() - timedelta(seconds=age)
    order = make_purchase(
        stored.order_id,
        customer=customer,
        email=email,
        total=7800,
        ship_to=LONDON,
        placed_at=placed_at,
        promised_by=placed_at + timedelta(seconds=FULFIL.complete_by),
    )
    OrderLine.objects.create(order=order, sku="tidal-lines", title=title, quantity=2, unit_price=3900)
    return stored


def note(order: OrderProcess, kind: str, step: str = "", attempt: int = 0, **detail: Any) -> None:
    """Records an event of an order."""
    Event.objects.create(
        order_id=order.order_id,
        kind=kind,
        step=step,
        attempt=attempt,
        actor_kind="scheduler",
        actor_name="test",
        detail=detail,
    )


def guest_page(order: OrderProcess | UUID) -> str:
    """The path of a guest's order page."""
    return f"/o/{make_token(order.order_id if isinstance(order, OrderProcess) else order)}/"


def customer(name: str = "ada") -> tuple[User, Client]:
    """A new account, and a browser in which it is signed in."""
    user = User.objects.create(username=name, email=f"{name}@example.com")
    return user, signed_in(user)
