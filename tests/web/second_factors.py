"""Second factors in tests: accounts that have one, its codes, and when it was last given."""

import time
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django_otp.oath import TOTP

from orders.models import TotpFactor

FACTOR = "/console/second-factor/"


def with_device(user: User) -> TotpFactor:
    return TotpFactor.objects.create(user=user, name="default", confirmed=True)


def code_of(device: TotpFactor, step: int = 0) -> str:
    """The code that is valid `step` half minutes from now."""
    if device.pk:
        device.refresh_from_db()  # signing in may have changed its drift
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits, device.drift)
    totp.time = time.time() + 30 * step
    return f"{totp.token():06d}"


def give(client: Client, code: str, **more: str) -> Any:
    return client.post(FACTOR, {"code": code, **more})


def move(client: Client, **seconds: float) -> None:
    """Sets times in a session to this many seconds ago."""
    session = client.session
    for key, ago in seconds.items():
        session[key] = time.time() - ago
    session.save()
