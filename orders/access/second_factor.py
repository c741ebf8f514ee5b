"""The operators' second factor: a six-digit code that changes every 30 seconds (TOTP), or a recovery code.

Users with a second factor are asked for it each time they sign in. With REQUIRE_SECOND_FACTOR, users without one must
set one up first. Until then they see nothing of the console or the admin site. Guessing is slowed down: after n wrong
codes in a row, the next one is not checked for 2^(n-1) seconds. Recovery codes are stored as keyed hashes, and each
works once.
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
import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.http import urlencode
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import default_key

from orders.access import api_tokens
from orders.access.levels import OPERATOR_NAMESPACES
from orders.models import TotpFactor
from sasweb.sealing import BrokenSealError, seal, unseal

log = structlog.get_logger()

GIVEN_AT = "second_factor_at"
"""Session key: when the factor was last given, in seconds since the epoch."""
NEW_KEY = "second_factor_key"
"""Session key: the sealed secret of a factor that is being set up."""

OPEN_VIEWS = {
    *("console:sign-in", "console:second-factor", "console:second-factor-qr", "console:second-factor-set-up"),
    *("admin:login", "admin:logout", "admin:jsi18n"),
}
"""The views that a user may request before she has given her second factor."""

FRESH_VIEWS = {
    *("admin:password_change", "admin:auth_user_password_change"),
    *("admin:auth_user_add", "admin:auth_user_change", "admin:auth_user_delete"),
}
"""The views of the admin site that need a fresh factor: they set passwords, and change accounts and their rights."""

RECOVERY_CODES = 10
CODE_BYTES = 15
"""Random bytes of a recovery code. 120 bits cannot be guessed from a hash, however fast it is."""
UNREADABLE = (
    "it was sealed with a SECRET_KEY that is not in SECRET_KEY_FALLBACKS; add it, or run"
    " manage.py forget_second_factor"
)
SALT = "orders.console.second_factor"


@dataclass(frozen=True, kw_only=True)
class CodeCheck:
    """Whether a code was right. `wait` is how many seconds to wait if it was not checked at all, else 0."""

    is_right: bool
    wait: int = 0


def has_factor(user: Any) -> bool:
    """Whether a user has set up a second factor."""
    return bool(TotpFactor.objects.filter(user_id=user.pk, confirmed=True).exists())


def is_asked_of(user: Any) -> bool:
    """Whether a user must give a second factor when she signs in, or set one up."""
    return settings.REQUIRE_SECOND_FACTOR or has_factor(user)


def is_verified(request: HttpRequest) -> bool:
    """Whether the second factor has been given in this session."""
    return bool(request.user.is_verified())  # type: ignore[union-attr]


def is_fresh(request: HttpRequest) -> bool:
    """Whether the factor was given within SECOND_FACTOR_FRESH, or is not needed."""
    if not is_asked_of(request.user):
        return True
    age = time.time() - request.session.get(GIVEN_AT, 0)
    return is_verified(request) and 0 <= age <= settings.SECOND_FACTOR_FRESH.total_seconds()


def ask_again(request: HttpRequest, *, back_to: str) -> HttpResponseRedirect:
    """Asks for the factor before an act that needs a fresh one. Afterwards the user returns to `back_to`."""
    minutes = int(settings.SECOND_FACTOR_FRESH.total_seconds() // 60)
    messages.warning(
        request,
        (
            "Nothing has been changed. Enter a code first: this action needs one"
            f" from the last {minutes} minutes. Then try again."
        ),
    )
    return redirect(f"{reverse('console:second-factor')}?{urlencode({'next': back_to})}")


class SecondFactor:
    """Middleware that hides the console and the admin site until the second factor has been given, and the forms for
    accounts and passwords unless it is fresh."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponseBase | None:
        match = request.resolver_match
        if match is None or not OPERATOR_NAMESPACES & set(match.namespaces):
            return None
        if match.view_name in OPEN_VIEWS or not request.user.is_authenticated:
            return None
        if match.view_name in FRESH_VIEWS and not is_fresh(request):
            return ask_again(request, back_to=request.get_full_path())
        if is_verified(request):
            return None
        if not is_asked_of(request.user):
            return None
        is_read = request.method in ("GET", "HEAD")
        next_path = request.get_full_path() if is_read else reverse("console:overview")
        return redirect(f"{reverse('console:second-factor')}?{urlencode({'next': next_path})}")


def pending_key(request: HttpRequest) -> str:
    """Returns the key that is being set up in this session, in hexadecimal digits. Makes one if there is none."""
    try:
        return unseal(request.session[NEW_KEY], purpose=NEW_KEY).decode()
    except (KeyError, BrokenSealError):
        key = str(default_key())
        request.session[NEW_KEY] = seal(key.encode(), purpose=NEW_KEY)
        return key


def key_url(user: User, key: str) -> str:
    """Returns the otpauth: URL that the QR code shows to an authenticator app."""
    return str(TotpFactor(user=user, key=key).config_url)


def key_letters(key: str) -> str:
    """Returns a key as people type it, in groups of four letters."""
    letters = b32encode(unhexlify(key)).decode()
    return " ".join(letters[at : at + 4] for at in range(0, len(letters), 4))


def set_up(request: HttpRequest, code: str) -> list[str] | None:
    """Makes this session's key the user's factor if the code matches it.

    Returns new recovery codes, or None if the code is wrong or the user has a factor already.
    """
    if has_factor(request.user):
        return None
    device = TotpFactor(user=request.user, name="default", key=pending_key(request), confirmed=True)
    with transaction.atomic():
        device.save()
        if not device.verify_token(_digits(code)):
            device.delete()
            return None
        codes = _new_recovery_codes(request.user)
    del request.session[NEW_KEY]
    _remember(request, device)
    return codes


def verify(request: HttpRequest, code: str) -> CodeCheck:
    """Checks a code from the user's app, or a recovery code. If it is right, the session has its second factor."""
    check, device = _check(request.user, code)
    if check.is_right:
        _remember(request, device)
    return check


def check_code(user: User, code: str) -> CodeCheck:
    """Checks a code where there is no session, as a command does. A code from the app works once."""
    return _check(user, code)[0]


def _check(user: Any, code: str) -> tuple[CodeCheck, Any]:
    """Checks a code of a user. Also returns the device that it is from."""
    typed = _digits(code)
    kind = TotpFactor if len(typed) == 6 and typed.isdigit() else StaticDevice
    with transaction.atomic():
        # Locked, so that simultaneous guesses are counted one after the other.
        device = kind.objects.select_for_update().filter(user_id=user.pk, confirmed=True).first()
        if device is None:
            return CodeCheck(is_right=False), None
        allowed, why_not = device.verify_is_allowed()
        if not allowed:
            return CodeCheck(is_right=False, wait=_seconds_until(why_not["locked_until"])), None
        if not _is_right(device, typed):
            return CodeCheck(is_right=False), None
    return CodeCheck(is_right=True), device


def _is_right(device: Any, typed: str) -> bool:
    """Uses up the code. A wrong one makes the device wait."""
    if isinstance(device, StaticDevice):
        return bool(device.verify_token(_stored_code(device, typed)))
    try:
        return bool(device.verify_token(typed))
    except BrokenSealError:
        log.error("second factor unreadable", action="sign in", hint=UNREADABLE)
        return False


def renew_recovery_codes(user: Any) -> list[str]:
    """Makes new recovery codes. The old ones stop working."""
    with transaction.atomic():
        return _new_recovery_codes(user)


def recovery_codes_left(user: Any) -> int:
    """How many recovery codes are unused."""
    return int(StaticToken.objects.filter(device__user_id=user.pk).count())


def remove(user: Any) -> None:
    """Removes the factor and the recovery codes. Sessions that were verified with it no longer are, and the tokens that
    it has granted are revoked."""
    with transaction.atomic():
        api_tokens.revoke_granted_by_factor(user)
        TotpFactor.objects.filter(user_id=user.pk).delete()
        StaticDevice.objects.filter(user_id=user.pk).delete()


def _remember(request: HttpRequest, device: Any) -> None:
    django_otp.login(request, device)
    request.session[GIVEN_AT] = time.time()
    request.session.cycle_key()


def _new_recovery_codes(user: Any) -> list[str]:
    StaticDevice.objects.filter(user_id=user.pk).delete()
    device = StaticDevice.objects.create(user_id=user.pk, name="recovery", confirmed=True)
    codes = [b32encode(secrets.token_bytes(CODE_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]
    StaticToken.objects.bulk_create(
        StaticToken(device=device, token=_hashed(user.pk, code)) for code in codes
    )
    return ["-".join(code[at : at + 4] for at in range(0, len(code), 4)) for code in codes]


def _stored_code(device: StaticDevice, code: str) -> str:
    """Returns a recovery code as it is stored, if with a key in SECRET_KEY_FALLBACKS."""
    stored = set(StaticToken.objects.filter(device=device).values_list("token", flat=True))
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    hashes = [_hashed(device.user_id, code, key) for key in keys]
    return next((text for text in hashes if text in stored), hashes[0])


def _hashed(user_id: int, code: str, key: str | None = None) -> str:
    """Returns a recovery code as it is stored: a keyed hash, cut to the column's 16 characters."""
    return salted_hmac(SALT, f"{user_id}:{code}", secret=key, algorithm="sha256").hexdigest()[:16]


def _digits(code: str) -> str:
    return "".join(letter for letter in code[:64].lower() if letter.isalnum())


def _seconds_until(moment: datetime) -> int:
    return max(1, int((moment - timezone.now()).total_seconds()) + 1)
