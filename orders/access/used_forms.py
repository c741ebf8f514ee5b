"""Has each form of a session do its work once: with `taking` also if it is posted twice at the same moment; with
`is_used` and `note` if that work is in the session itself, and is stored with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction

from orders.access.hashed_sessions import SessionStore, stored_key

USED_FORMS, MOST_USED_FORMS = "used_forms", 50
"""Where a session has the keys of the latest forms that have done their work, and how many."""


@contextmanager
def taking(session: SessionStore, form_key: str) -> Iterator[bool]:
    """Says whether the form with this key comes for the first time. What is done about it is one transaction, for whose
    end whoever posts a form of the same session waits; if it fails, the form may come again."""
    with transaction.atomic():
        used = _used_by_now(session)
        if used is None:  # somebody has signed out meanwhile
            yield False
            return
        is_first = form_key not in used
        session[USED_FORMS] = _with(form_key, used) if is_first else used
        if is_first:
            session.save()
        yield is_first


def is_used(session: SessionBase, form_key: str) -> bool:
    """Whether the form with this key has done its work, as this session was when it was read."""
    return form_key in session.get(USED_FORMS, ())


def note(session: SessionBase, form_key: str) -> None:
    """Notes that the form with this key has done its work. The session is stored with the answer."""
    session[USED_FORMS] = _with(form_key, session.get(USED_FORMS, ()))


def _with(form_key: str, used: Sequence[str]) -> list[str]:
    return [*used, form_key][-MOST_USED_FORMS:]


def _used_by_now(session: SessionStore) -> list[str] | None:
    """The keys of the forms that have done their work, other requests of this moment included."""
    row = (
        session.model.objects.select_for_update().filter(session_key=stored_key(session.session_key)).first()
    )
    return None if row is None else list(row.get_decoded().get(USED_FORMS, ()))
