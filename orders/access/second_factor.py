"""The operators' second factor: a code of six digits that changes every half minute (TOTP), or a recovery code.

Who has a factor is asked for it at each sign-in; with REQUIRE_SECOND_FACTOR who has none must set one up first. Nothing
of the console and of the admin site is shown before. Guesses are slowed down: after n wrong codes in a row the next one
is looked at 2^(n-1) seconds later at the earliest. Recovery codes are kept as keyed hashes, each good for once.
"""

import secrets
import time
from base64 import b32encode
from binascii import unhexlify
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import django_otp
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.http import urlencode
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice, default_key

GIVEN_AT = "second_factor_at"
"""Where a session has the time at which its factor was given last, in seconds of the epoch."""
NEW_KEY = "second_factor_key"
"""Where a session has the key that is being set up."""

GUARDED = {"console", "admin"}
OPEN = {
    *("console:sign-in", "console:second-factor", "console:second-factor-qr", "console:second-factor-set-up"),
    *("admin:login", "admin:logout", "admin:jsi18n"),
}
"""What who signed in by password alone may ask for."""

RECOVERY_CODES = 10
SALT = "orders.console.second_factor"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a code was right; `wait` is in seconds, when it was not even looked at."""

    is_right: bool
    wait: int = 0


def has_factor(user: Any) -> bool:
    """Whether somebody has set up a second factor."""
    return TOTPDevice.objects.filter(user_id=user.pk, confirmed=True).exists()


def is_verified(request: HttpRequest) -> bool:
    """Whether this session's factor has been given."""
    return bool(request.user.is_verified())  # type: ignore[union-attr]


def is_fresh(request: HttpRequest) -> bool:
    """Whether the factor was given a short time ago, or need not be."""
    if not settings.REQUIRE_SECOND_FACTOR and not has_factor(request.user):
        return True
    age = time.time() - request.session.get(GIVEN_AT, 0)
    return is_verified(request) and 0 <= age <= settings.SECOND_FACTOR_FRESH.total_seconds()


class SecondFactor:
    """The middleware that shows nothing of the console and the admin site before the factor was given."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponseBase | None:
        match = request.resolver_match
        if match is None or not GUARDED & set(match.namespaces) or match.view_name in OPEN:
            return None
        if not request.user.is_authenticated or is_verified(request):
            return None
        if not settings.REQUIRE_SECOND_FACTOR and not has_factor(request.user):
            return None
        following = (
            request.get_full_path() if request.method in ("GET", "HEAD") else reverse("console:overview")
        )
        return redirect(f"{reverse('console:second-factor')}?{urlencode({'next': following})}")


def key_to_set_up(request: HttpRequest) -> str:
    """The key that is being set up in this session, made when there is none, in hexadecimal digits."""
    if NEW_KEY not in request.session:
        request.session[NEW_KEY] = default_key()
    key: str = request.session[NEW_KEY]
    return key


def address_of_key(user: User, key: str) -> str:
    """What the QR code says to an authenticator app."""
    return str(TOTPDevice(user=user, key=key).config_url)


def letters_of_key(key: str) -> str:
    """The key for who types it, in groups of four letters."""
    letters = b32encode(unhexlify(key)).decode()
    return " ".join(letters[at : at + 4] for at in range(0, len(letters), 4))


def set_up(request: HttpRequest, code: str) -> list[str] | None:
    """Makes the key of this session the user's factor if the code is of it. Answers new recovery codes, or None."""
    if has_factor(request.user):
        return None
    device = TOTPDevice(user=request.user, name="default", key=key_to_set_up(request), confirmed=True)
    with transaction.atomic():
        device.save()
        if not device.verify_token(_digits(code)):
            device.delete()
            return None
        codes = _new_recovery_codes(request.user)
    del request.session[NEW_KEY]
    _remember(request, device)
    return codes


def verify(request: HttpRequest, code: str) -> Verdict:
    """Takes a code of the user's device, or a recovery code; the session has its factor then."""
    typed = _digits(code)
    kind = TOTPDevice if len(typed) == 6 and typed.isdigit() else StaticDevice
    with transaction.atomic():
        # Locked, so that guesses at one moment are counted one after the other.
        device = kind.objects.select_for_update().filter(user_id=request.user.pk, confirmed=True).first()
        if device is None:
            return Verdict(is_right=False)
        allowed, why_not = device.verify_is_allowed()
        if not allowed:
            return Verdict(is_right=False, wait=_seconds_until(why_not["locked_until"]))
        if not device.verify_token(typed if kind is TOTPDevice else _hashed(request.user, typed)):
            return Verdict(is_right=False)
    _remember(request, device)
    return Verdict(is_right=True)


def renew_recovery_codes(user: Any) -> list[str]:
    """New recovery codes; the old ones are no longer good."""
    with transaction.atomic():
        return _new_recovery_codes(user)


def recovery_codes_left(user: Any) -> int:
    """How many recovery codes have not been used."""
    return StaticToken.objects.filter(device__user_id=user.pk).count()


def remove(user: Any) -> None:
    """Takes the factor away, and the recovery codes; every session that was verified with it is not any more."""
    with transaction.atomic():
        TOTPDevice.objects.filter(user_id=user.pk).delete()
        StaticDevice.objects.filter(user_id=user.pk).delete()


def _remember(request: HttpRequest, device: Any) -> None:
    django_otp.login(request, device)
    request.session[GIVEN_AT] = time.time()
    request.session.cycle_key()


def _new_recovery_codes(user: Any) -> list[str]:
    StaticDevice.objects.filter(user_id=user.pk).delete()
    device = StaticDevice.objects.create(user_id=user.pk, name="recovery", confirmed=True)
    codes = [b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=_hashed(user, code)) for code in codes)
    return ["-".join(code[at : at + 4] for at in range(0, 16, 4)) for code in codes]


def _hashed(user: Any, code: str) -> str:
    """A recovery code as it is kept: as much of a keyed hash as there is room for."""
    return salted_hmac(SALT, f"{user.pk}:{code}", algorithm="sha256").hexdigest()[:16]


def _digits(code: str) -> str:
    return "".join(letter for letter in code[:64].lower() if letter.isalnum())


def _seconds_until(moment: datetime) -> int:
    return max(1, int((moment - timezone.now()).total_seconds()) + 1)
