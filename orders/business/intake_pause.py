"""Whether new orders are accepted. See docs/adr/0067.

An operator pauses that with `orders.services.operators.pausing_intake`.
"""

import random
from datetime import datetime
from typing import TYPE_CHECKING, cast

from django.core.cache import cache
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

if TYPE_CHECKING:
    from orders.models.pauses import IntakePause

KEPT = 1
"""Seconds for which a process goes by what it has read."""
USUAL_WAIT, LONGEST_WAIT = 60, 300
"""Seconds until a client is to try again: of a pause without an end, and at most, as any may end early. Chance adds up
to half as much, so that the clients do not all come back in the same second."""
_KEY, _NONE = "intake_pause", "none"


def read_pause() -> "IntakePause | None":
    """The pause of the intake; None while orders are accepted. One statement."""
    from orders.models.pauses import IntakePause  # noqa: PLC0415 - an agent's tests import this room without Django

    return IntakePause.objects.filter(Q(until__isnull=True) | Q(until__gt=Now())).first()


def known_pause() -> "IntakePause | None":
    """The same, as this process has read it within `KEPT` seconds."""
    pause = cache.get_or_set(_KEY, lambda: read_pause() or _NONE, KEPT)
    return None if pause == _NONE else cast("IntakePause", pause)


def is_paused() -> bool:
    """Whether new orders are refused, as far as this process knows."""
    return known_pause() is not None


def forget_pause() -> None:
    """Has this process read it again."""
    cache.delete(_KEY)


def seconds_to_wait(pause: "IntakePause", *, now: datetime | None = None) -> int:
    """After how many seconds it is worth trying again."""
    rest = USUAL_WAIT if pause.until is None else (pause.until - (now or timezone.now())).total_seconds()
    least = min(LONGEST_WAIT, max(1, round(rest)))
    return least + random.randint(0, least // 2)
