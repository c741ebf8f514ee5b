"""The database that the environment names: how to connect to it, and whether it can carry this software.

Between a process and the server there may be a pooler in transaction mode (PgBouncer): each transaction gets any one of
its connections. What is set on a connection is then lost, and so is listening, unless somebody sees to it.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

OLDEST_POSTGRES = 170_000  # the first with transaction_timeout
LIMITS = ("transaction_timeout", "idle_in_transaction_session_timeout")
LIMIT = "5s"
HEARING = 10.0
"""Seconds that a wake-up may take to arrive when the connection for wake-ups is tried."""


class UnsuitableDatabase(Exception):
    """Raised when the database cannot carry this software. The text is one line that says what to change."""


def parameters(url: str, *, is_limited: bool = True) -> dict[str, Any]:
    """psycopg's parameters for a PostgreSQL url, with the time-outs that keep a stopped process from holding its locks.

    A process that is stopped inside a transaction loses its locks after 5 s (docs/architecture.md, "Nobody holds a
    lock for ever"); `migrate` is not limited. The keepalives find a dead server within 15 s.
    """
    settings: dict[str, Any] = dict(conninfo_to_dict(url))
    limits = " ".join(f"-c {name}={LIMIT if is_limited else 0}" for name in LIMITS)
    settings["options"] = f"{settings.get('options', '')} {limits}".strip()
    settings.setdefault("connect_timeout", 5)
    return {**settings, "keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2}


def django_settings(
    url: str, *, is_pooled: bool = False, is_limited: bool = True, has_pooler: bool = False
) -> dict[str, Any]:
    """Django's settings for a PostgreSQL url.

    If `is_pooled`, a request borrows its connection, and fails if it gets none within 3 s. An attempt to connect is
    given up after 1 s: the pool doubles its pauses, and would otherwise find a server minutes after it is back. With
    `has_pooler` there is one in front of the server.
    """
    options = parameters(url, is_limited=is_limited)
    name, user, password = options.pop("dbname", ""), options.pop("user", ""), options.pop("password", "")
    host, port = options.pop("host", ""), options.pop("port", "")
    if is_pooled:
        options["pool"] = {"min_size": 2, "max_size": 20, "timeout": 3.0, "reconnect_timeout": 1.0}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": user,
        "PASSWORD": password,
        "HOST": host,
        "PORT": port,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": has_pooler,
        "OPTIONS": options,
    }


def check(connection: Mapping[str, Any], *, listener: Mapping[str, Any] | None = None) -> None:
    """Checks the database by the parameters of a connection for work, and of one for wake-ups if that is another.

    Raises `UnsuitableDatabase`, or `psycopg.OperationalError` if the database cannot be reached.
    """
    with _connected(connection) as session:
        _check_version(session)
        _check_limits(session)
        with _connected(listener or connection) as ear:
            _check_wake_ups(session, ear)


def check_version(connection: Mapping[str, Any]) -> None:
    """Checks only the server's version, without the time-outs, which an old server does not know. Raises as `check`."""
    with _connected({**connection, "options": ""}) as session:
        _check_version(session)


@contextmanager
def _connected(parameters: Mapping[str, Any]) -> Iterator[psycopg.Connection[Any]]:
    try:
        session = psycopg.connect(**parameters, autocommit=True)
    except psycopg.OperationalError as error:
        _explain(error, parameters)
        raise
    with session:
        yield session


def _explain(error: psycopg.OperationalError, parameters: Mapping[str, Any]) -> None:
    """Raises `UnsuitableDatabase` if the server or a pooler refuses the time-outs as parameters of the connection."""
    reason = str(error)
    if "unsupported startup parameter" in reason:
        raise UnsuitableDatabase(
            "the pooler in front of the database refuses the time-outs; put ignore_startup_parameters = options into "
            "its configuration, and set them for the database's user (docs/operations.md, Behind a pooler)"
        ) from error
    if any(f'unrecognized configuration parameter "{name}"' in reason for name in LIMITS):
        check_version(parameters)


def _check_version(session: psycopg.Connection[Any]) -> None:
    version = session.info.server_version
    if version < OLDEST_POSTGRES:
        raise UnsuitableDatabase(f"the database is PostgreSQL {version // 10_000}; 17 or newer is needed")


def _check_limits(session: psycopg.Connection[Any]) -> None:
    for name in LIMITS:
        row = session.execute("SELECT current_setting(%s), current_user", [name]).fetchone()
        value, user = row or ("0", "")
        if value == "0":
            raise UnsuitableDatabase(
                f"{name} is off, although it was asked for: a pooler has dropped it; run "
                f"ALTER ROLE \"{user}\" SET {name} = '{LIMIT}'"
            )


def _check_wake_ups(session: psycopg.Connection[Any], ear: psycopg.Connection[Any]) -> None:
    """Sends a notification from one session to the other, on a channel of its own."""
    channel = f"sasweb_check_{secrets.token_hex(8)}"
    ear.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
    session.execute("SELECT pg_notify(%s, '')", [channel])
    for _ in ear.notifies(timeout=HEARING, stop_after=1):
        return
    raise UnsuitableDatabase(
        "wake-ups are not heard through the pooler in front of the database; "
        "set LISTEN_DATABASE_URL to the server itself"
    )
