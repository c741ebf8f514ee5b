"""A pooler in transaction mode between the roles and the database: refused until it is set up, and then harmless."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sasweb import database as sasweb_database
from sasweb.database import UnreachableDatabase, UnsuitableDatabase, check, parameters
from tests.support.own_database import OwnDatabase
from tests.support.pooler import a_pooler
from tests.support.system import System

PASSES_OPTIONS = "ignore_startup_parameters = options"


@pytest.fixture
def limits(database: OwnDatabase) -> Iterator[None]:
    """The time-outs as settings of the user, as the documents advise."""
    for name in sasweb_database.LIMITS:
        database.act(f"ALTER ROLE sasweb SET {name} = '5s'")
    yield
    database.act("ALTER ROLE sasweb RESET ALL")


def refusal_of(url: str, listen_url: str = "", *, kind: type[Exception] = UnsuitableDatabase) -> str:
    with pytest.raises(kind) as refusal:
        check(parameters(url), listener=parameters(listen_url) if listen_url else None)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


unreachable = partial(refusal_of, kind=UnreachableDatabase)


def test_a_pooler_that_refuses_the_time_outs_is_reported_with_what_to_change(
    database: OwnDatabase, tmp_path: Path
) -> None:
    with a_pooler(database, tmp_path) as url:
        assert "put ignore_startup_parameters = options into" in refusal_of(url, database.server.url)


def test_a_pooler_that_drops_the_time_outs_is_reported_with_the_statement_that_sets_them(
    database: OwnDatabase, tmp_path: Path
) -> None:
    with a_pooler(database, tmp_path, more=PASSES_OPTIONS) as url:
        assert "run ALTER ROLE \"sasweb\" SET transaction_timeout = '5s'" in refusal_of(url)


@pytest.mark.usefixtures("limits")
def test_a_pooler_through_which_no_wake_up_is_heard_is_reported(
    database: OwnDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sasweb_database, "HEARING", 1.0)
    with a_pooler(database, tmp_path, more=PASSES_OPTIONS) as url:
        assert "set LISTEN_DATABASE_URL to the server itself" in refusal_of(url)
        check(parameters(url), listener=parameters(database.server.url))


def test_a_server_that_does_not_know_the_time_outs_is_named_with_its_version(
    database: OwnDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It refuses the connection, which is not the same as being out of reach."""
    monkeypatch.setattr(sasweb_database, "LIMITS", ("timeout_of_the_future",))
    monkeypatch.setattr(sasweb_database, "OLDEST_POSTGRES", 990_000)
    ((version,),) = database.act("SHOW server_version_num")
    number = int(str(version)) // 10_000
    assert refusal_of(database.server.url) == f"the database is PostgreSQL {number}; 17 or newer is needed"


@pytest.mark.usefixtures("limits")
def test_a_limit_longer_than_a_late_row_may_take_is_refused(
    database: OwnDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queues' low water passes a row that commits later than that."""
    monkeypatch.setattr(sasweb_database, "LIMIT_IN_MS", 5_000)
    database.act("ALTER ROLE sasweb SET transaction_timeout = '6s'")
    with a_pooler(database, tmp_path, more=PASSES_OPTIONS) as url:
        assert refusal_of(url, database.server.url).startswith(
            "transaction_timeout is 6000 ms, although 5s was asked"
        )


def test_wake_ups_of_another_database_are_reported_with_the_setting_to_change(
    database: OwnDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sasweb_database, "HEARING", 0.5)
    other = database.server.url.replace("/sasweb?", "/postgres?")
    assert other != database.server.url
    assert refusal_of(database.server.url, other).startswith(
        "LISTEN_DATABASE_URL: wake-ups sent through DATABASE_URL"
    )


def test_a_slow_wake_up_without_a_pooler_is_no_reason_to_end(
    database: OwnDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sasweb_database, "_hears", lambda *_: False)
    assert unreachable(database.server.url) == "DATABASE_URL: a wake-up took more than 10 s"


def test_the_setting_whose_database_cannot_be_reached_is_named(database: OwnDatabase) -> None:
    nowhere = "postgresql://sasweb@127.0.0.1:1/sasweb"
    assert unreachable(nowhere, database.server.url).startswith("DATABASE_URL: the database cannot be used: ")
    assert unreachable(database.server.url, nowhere).startswith(
        "LISTEN_DATABASE_URL: the database cannot be used: "
    )


def test_a_standby_is_waited_for_until_it_is_promoted(database: OwnDatabase) -> None:
    signal = database.server.place.data / "standby.signal"
    database.server.stop(mode="fast")
    signal.touch()
    try:
        database.server.start()
        assert unreachable(database.server.url).endswith("the database is a standby, which takes no orders")
    finally:
        database.server.stop(mode="fast")
        signal.unlink()
        database.start()


@pytest.mark.parametrize("role", ["submission", "scheduler", "agents", "jobs"])
def test_a_role_that_starts_behind_such_a_pooler_ends_with_one_line(
    role: str, database: OwnDatabase, tmp_path: Path
) -> None:
    system = System(tmp_path, DATABASE_URL=database.url)
    try:
        with a_pooler(database, tmp_path) as url:
            ended = subprocess.run(
                [sys.executable, "manage.py", f"run_{role}"],
                env={**system.environment, "DATABASE_URL": url},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
    finally:
        system.end()
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "ignore_startup_parameters = options" in line


@pytest.mark.pattern("T1", "C9", "F23")
@pytest.mark.usefixtures("limits")
def test_orders_go_through_a_pooler_and_survive_kills_there(database: OwnDatabase, tmp_path: Path) -> None:
    """No transaction may depend on the session that another one had."""
    with a_pooler(database, tmp_path, more=PASSES_OPTIONS) as url:
        system = System(tmp_path, DATABASE_URL=url, LISTEN_DATABASE_URL=database.url)
        try:
            roles = system.start_all()
            for role in ("scheduler", "agents"):
                system.place(6)
                roles[role].kill()
                system.start(role)
            system.place(3)
            assert system.wait_until_ended() == ["processed"] * 15
            system.check()
            assert not any(process.says("not listening") for process in system.running)
        finally:
            system.end()
