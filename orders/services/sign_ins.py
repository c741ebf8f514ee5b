"""Notes in the audit log who signed in to an account with access to the console, and who failed to. All others are in
the log alone, by the number of their account.

Wrong passwords count for `sign_in.name` as well, for all accounts, and those refused unread because the name is locked
for their address count for `sign_in.locked`. Beyond these limits they are not noted: nobody may fill the log.
"""

from collections.abc import Mapping
from typing import Any

import structlog
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest

from orders.access.levels import VIEW
from orders.access.lockout import count_failure, read_username, was_checked
from orders.services import audit

log = structlog.get_logger()

ACT = "sign in"


def watch() -> None:
    """Begins to note, once in each process."""
    user_logged_in.connect(_note_sign_in, dispatch_uid="orders.services.sign_ins")
    user_login_failed.connect(_note_failure, dispatch_uid="orders.services.sign_ins")


def _note_sign_in(sender: Any, request: HttpRequest | None, user: Any, **_: Any) -> None:
    if request is None or not request.resolver_match:
        return
    actor = audit.actor_of(request, user.get_username())
    log.info("signed in", action=ACT, account=user.pk, ip_address=actor.ip_address)
    if user.has_perm(VIEW):
        audit.record(actor=actor, act=ACT, target=user.get_username(), result="right password")


def _note_failure(
    sender: Any, credentials: Mapping[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    if request is None or not count_failure(request, credentials):
        return
    name = read_username(request, credentials)
    user = User.objects.filter(username=name).first()
    actor = audit.actor_of(request, name)
    result = "wrong password" if was_checked(request) else "locked"
    log.warning(result, action=ACT, account=user and user.pk, ip_address=actor.ip_address)
    if user is not None and user.has_perm(VIEW):
        audit.record(actor=actor, act=ACT, target=name, result=result, allowed=False)
