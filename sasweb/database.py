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
LIMIT_IN_MS = 5_000
"""The longest that a transaction may last, in milliseconds: the low water of the queues counts on it."""
HEARING = 10.0
"""Seconds that a wake-up may take to arrive when the connection for wake-ups is tried."""

DEAF_POOLER = (
    "wake-ups are not heard through the pooler in front of the database; "
    "set LISTEN_DATABASE_URL to the server itself"
)
DEAF_LISTENER = (
    "LISTEN_DATABASE_URL: wake-ups sent through DATABASE_URL are not heard there; "
    "set it to the same database, at the server itself"
)


class UnsuitableDatabase(Exception):
    """Raised when the database cannot carry this software. The text is one line that says what to change."""


class UnreachableDatabase(Exception):
    """Raised when the database does not answer, or not as a server that can be written to.

    That may pass by itself. The text is one line, and begins with the setting whose database it is.
    """


def parameters(url: str, *, is_limited: bool = True) -> dict[str, Any]:
    """psycopg's parameters for a PostgreSQL url, with the time-outs that keep a stopped process from holding its locks,
    and without compiled statements (JIT).

    A process that is stopped inside a transaction loses its locks after 5 s (docs/architecture.md, "Nobody holds a
    lock forever"); `migrate` is not limited. The keepalives find a dead server within 15 s.

    No statement here runs long enough to be worth compiling, but PostgreSQL 17 would compile those that
    `enable_sort = off` makes look expensive: 70 ms for a claim of 0.1 ms.
    """
    settings: dict[str, Any] = dict(conninfo_to_dict(url))
    limits = " ".join(f"-c {name}={LIMIT if is_limited else 0}" for name in LIMITS)
    settings["options"] = f"{settings.get('options', '')} {limits} -c jit=off".strip()
    settings.setdefault("connect_timeout", 5)
    return {**settings, "keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2}


def django_settings(
    url: str, *, is_pooled: bool = False, is_limited: bool = True, has_pooler: bool = False
) -> dict[str, Any]:
    """Django's settings for a PostgreSQL url.

    If `is_pooled`, a request borrows its connection, and fails if it gets none within 3 s, or at once while the
    database does not answer (`sasweb.database_circuit`). An attempt to connect is given up after 1 s: the pool doubles
    its pauses, and would otherwise find a server minutes after it is back. With `has_pooler` there is one in front of
    the server.
    """
    options = parameters(url, is_limited=is_limited)
    name, user, password = options.pop("dbname", ""), options.pop("user", ""), options.pop("password", "")
    host, port = options.pop("host", ""), options.pop("port", "")
    if is_pooled:
        options["pool"] = {"min_size": 2, "max_size": 20, "timeout": 3.0, "reconnect_timeout": 1.0}
    return {
        "ENGINE": "sasweb.watched_postgresql" if is_pooled else "django.db.backends.postgresql",
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

    Raises `UnsuitableDatabase` or `UnreachableDatabase`.
    """
    with _connected(connection, "DATABASE_URL") as session:
        _check_version(session)
        _check_limits(session)
        _check_writable(session)
        setting = "LISTEN_DATABASE_URL" if listener else "DATABASE_URL"
        with _connected(listener or connection, setting) as ear:
            if not _hears(session, ear):
                _explain_deafness(ear, is_separate=listener is not None)


def check_version(connection: Mapping[str, Any]) -> None:
    """Checks only the server's version, without the time-outs, which an old server does not know. Raises as `check`."""
    with _connected({**connection, "options": ""}, "DATABASE_URL") as session:
        _check_version(session)


@contextmanager
def _connected(parameters: Mapping[str, Any], setting: str) -> Iterator[psycopg.Connection[Any]]:
    """A session whose errors are raised as `UnreachableDatabase`, if none of them has a cause that can be named."""
    try:
        with psycopg.connect(**parameters, autocommit=True) as session:
            yield session
    except psycopg.Error as error:
        _explain_refusal(error, parameters)
        raise UnreachableDatabase(
            f"{setting}: the database cannot be used: {' '.join(str(error).split())}"
        ) from error


def _explain_refusal(error: psycopg.Error, parameters: Mapping[str, Any]) -> None:
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
    rows = session.execute(
        "SELECT name, setting::bigint, current_user FROM pg_settings WHERE name = ANY(%s) ORDER BY name DESC",
        [list(LIMITS)],
    )
    for name, limit, user in rows:
        if not 0 < limit <= LIMIT_IN_MS:
            raise UnsuitableDatabase(
                f"{name} is {f'{limit} ms' if limit else 'off'}, although {LIMIT} was asked for: a pooler has dropped "
                f"it; run ALTER ROLE \"{user}\" SET {name} = '{LIMIT}'"
            )


def _check_writable(session: psycopg.Connection[Any]) -> None:
    if session.execute("SELECT pg_is_in_recovery()").fetchone() != (False,):
        raise UnreachableDatabase("DATABASE_URL: the database is a standby, which takes no orders")


def _hears(session: psycopg.Connection[Any], ear: psycopg.Connection[Any]) -> bool:
    """Whether a notification arrives from one session at the other, on a channel of its own, within `HEARING`."""
    channel = f"sasweb_check_{secrets.token_hex(8)}"
    ear.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
    session.execute("SELECT pg_notify(%s, '')", [channel])
    return any(True for _ in ear.notifies(timeout=HEARING, stop_after=1))


def _explain_deafness(ear: psycopg.Connection[Any], *, is_separate: bool) -> None:
    """Raises `UnsuitableDatabase` if a setting is to blame, else `UnreachableDatabase`: the server is only slow.

    A pooler is known by the process id that it invents for the session.
    """
    if is_separate:
        raise UnsuitableDatabase(DEAF_LISTENER)
    row = ear.execute("SELECT pg_backend_pid()").fetchone()
    if row != (ear.info.backend_pid,):
        raise UnsuitableDatabase(DEAF_POOLER)
    raise UnreachableDatabase(f"DATABASE_URL: a wake-up took more than {HEARING:.0f} s")
