"""Django's sessions in the database, under a hash of their keys: a dump of the table opens no session.

However often it is used, a session ends `LONGEST_SESSION` after its owner has signed in.
"""

import time
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends import db
from django.http import HttpRequest
from django.utils import timezone

STORED = 40
"""Characters of the hash that the table's column takes."""
SIGNED_IN = "signed_in_at"
"""Session key: when its owner signed in, in seconds since the epoch."""


def stored_key(session_key: str | None) -> str:
    """What is stored in place of a session's key."""
    return sha256((session_key or "").encode()).hexdigest()[:STORED]


class SessionStore(db.SessionStore):
    """`SESSION_ENGINE`. The cookie has the key, the table its hash."""

    def _get_session_from_db(self) -> Any:
        try:
            return self.model.objects.get(
                session_key=stored_key(self.session_key), expire_date__gt=timezone.now()
            )
        except self.model.DoesNotExist:
            self._session_key = None
            return None

    async def _aget_session_from_db(self) -> Any:
        try:
            return await self.model.objects.aget(
                session_key=stored_key(self.session_key), expire_date__gt=timezone.now()
            )
        except self.model.DoesNotExist:
            self._session_key = None
            return None

    def get_expiry_date(self, **kwargs: Any) -> datetime:
        date: datetime = super().get_expiry_date(**kwargs)
        if SIGNED_IN not in self:
            return date
        return min(date, datetime.fromtimestamp(self[SIGNED_IN], UTC) + settings.LONGEST_SESSION)

    def exists(self, session_key: str) -> bool:
        return bool(super().exists(stored_key(session_key)))

    async def aexists(self, session_key: str) -> bool:
        return bool(await super().aexists(stored_key(session_key)))

    def create_model_instance(self, data: Any) -> Any:
        row = super().create_model_instance(data)
        row.session_key = stored_key(row.session_key)
        return row

    async def acreate_model_instance(self, data: Any) -> Any:
        row = await super().acreate_model_instance(data)
        row.session_key = stored_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(stored_key(key))

    async def adelete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            await super().adelete(stored_key(key))


def _note_sign_in(sender: Any, request: HttpRequest | None, **_: Any) -> None:
    if request is not None:
        request.session[SIGNED_IN] = time.time()


user_logged_in.connect(_note_sign_in, dispatch_uid="orders.access.hashed_sessions")
