"""The embedded server starts, stops, and recovers from every way in which a process can end."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from sasweb import database
from sasweb.embedded_postgres import place as postgres_place
from sasweb.embedded_postgres.place import PostgresError
from sasweb.embedded_postgres.server import FOR_TESTS, EmbeddedPostgres
from sasweb.launcher import children
from tests.launcher.helpers import is_alive, line_with, python, wait_for

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run the server as another user")

START_AND_WAIT = """
import sys, time
from pathlib import Path
from sasweb.embedded_postgres.server import FOR_TESTS, EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]), settings=FOR_TESTS)
server.start()
print("started", flush=True)
time.sleep(120)
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "postgres"
    yield home
    server = EmbeddedPostgres(home)
    server.prepare()
    server.forget()
    server.remove()


@pytest.fixture
def server(home: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(home, settings=FOR_TESTS, note=home.parent / "database-url")
    yield server
    server.stop(mode="immediate")


def query(server: EmbeddedPostgres, statement: str) -> object:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(statement.encode()).fetchone()
        return row and row[0]


def server_pid(server: EmbeddedPostgres) -> int:
    return int((server.place.data / "postmaster.pid").read_text().split()[0])


def make_row(server: EmbeddedPostgres) -> None:
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'a row' AS text")


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_stopped_server_starts_again_with_its_data(server: EmbeddedPostgres, mode: str) -> None:
    server.start()
    make_row(server)
    server.stop(mode=mode)
    assert not server.is_ready()
    server.start()
    assert query(server, "SELECT text FROM kept") == "a row"


def test_the_server_has_the_required_version_and_locale(
    server: EmbeddedPostgres,
) -> None:
    server.start()
    assert int(str(query(server, "SHOW server_version_num"))) >= 180_000
    assert query(server, "SHOW server_encoding") == "UTF8"
    locale = "SELECT format('%s %s', datlocprovider, datlocale) FROM pg_database WHERE datname = 'sasweb'"
    assert query(server, locale) == "b C.UTF-8"


def test_the_url_is_understood_by_libpq_and_by_the_settings(server: EmbeddedPostgres) -> None:
    parts = conninfo_to_dict(server.url)
    assert (parts["user"], parts["dbname"], parts["host"]) == ("sasweb", "sasweb", str(server.sockets))
    there = database.django_settings(server.url)
    assert (there["NAME"], there["USER"], there["HOST"]) == ("sasweb", "sasweb", str(server.sockets))


def test_the_note_holds_the_url_for_its_owner_alone_while_the_server_runs(server: EmbeddedPostgres) -> None:
    server.start()
    assert server.note
    assert server.note.read_text().strip() == server.url
    assert server.note.stat().st_mode & 0o777 == 0o600
    server.stop()
    assert not server.note.exists()


def test_the_socket_can_be_reached_by_its_owner_alone_and_there_is_no_other_way_in(
    server: EmbeddedPostgres,
) -> None:
    server.start()
    assert server.sockets.stat().st_mode & 0o077 == 0
    assert query(server, "SHOW listen_addresses") == ""


def test_a_home_with_a_long_path_works(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / ("long-" * 30) / ("path " * 20) / "home", settings=FOR_TESTS)
    server.start()
    server.stop()
    server.remove()


def test_variables_for_other_postgresql_clients_change_nothing(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "7777")
    monkeypatch.setenv("PGDATA", "/nowhere")
    server.start()
    assert query(server, "SELECT 1") == 1


def test_a_lock_file_whose_pid_is_an_unrelated_process_is_ignored(server: EmbeddedPostgres) -> None:
    server.start()
    lock_file = server.place.data / "postmaster.pid"
    left_behind = lock_file.read_text().splitlines()
    server.stop(mode="immediate")
    stranger = children.spawn(["sleep", "60"], user=server.place.user)
    try:
        lock_file.write_text("\n".join([str(stranger.pid), *left_behind[1:]]) + "\n")
        server.start()
        assert query(server, "SELECT 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_empty_lock_file_left_by_a_full_disk_is_ignored(server: EmbeddedPostgres) -> None:
    server.start()
    server.stop(mode="immediate")
    (server.place.data / "postmaster.pid").write_text("")
    server.start()


def test_a_server_killed_with_clients_connected_starts_again(server: EmbeddedPostgres) -> None:
    server.start()
    make_row(server)
    with psycopg.connect(server.url) as client:
        os.kill(server_pid(server), signal.SIGKILL)
        server.stop()
        server.start()
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    assert query(server, "SELECT text FROM kept") == "a row"


def test_the_server_ends_when_its_parent_is_killed_and_the_next_start_waits_for_that(
    server: EmbeddedPostgres,
) -> None:
    with python("-c", START_AND_WAIT, str(server.home)) as parent:
        line_with(parent, "started")
        orphan = server_pid(server)
        parent.kill()
        server.start()
    assert server_pid(server) != orphan
    assert not is_alive(orphan)


def test_a_server_of_another_process_is_left_alone(server: EmbeddedPostgres) -> None:
    with python("-c", START_AND_WAIT, str(server.home)) as other:
        line_with(other, "started")
        with pytest.raises(PostgresError, match="in use by another process"):
            server.start()
        assert is_alive(server_pid(server))
        other.kill()


def test_an_interrupted_initdb_is_repeated(server: EmbeddedPostgres) -> None:
    (server.place.home / "data.new" / "base").mkdir(parents=True)
    server.start()
    assert query(server, "SELECT 1") == 1


def test_data_of_another_version_is_refused_in_one_line(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "home")
    server.place.data.mkdir()
    (server.place.data / "PG_VERSION").write_text("17\n")
    with pytest.raises(PostgresError, match="created by PostgreSQL 17, but this is 18"):
        server.start()
    server.forget()
    server.remove()


def test_a_server_that_cannot_start_says_why(home: Path) -> None:
    server = EmbeddedPostgres(home, settings={**FOR_TESTS, "max_connections": "none"})
    with pytest.raises(PostgresError, match=r"does not start.*max_connections"):
        server.start()


@as_root
def test_as_root_the_data_moves_to_where_the_server_user_can_reach_it(tmp_path: Path) -> None:
    locked = tmp_path / "only root enters"
    locked.mkdir(mode=0o700)
    server = EmbeddedPostgres(locked / "postgres", settings=FOR_TESTS)
    server.start()
    assert (locked / "postgres").is_symlink()
    assert locked.stat().st_mode & 0o777 == 0o700
    make_row(server)
    server.stop()
    again = EmbeddedPostgres(locked / "postgres", settings=FOR_TESTS)
    again.start()
    assert query(again, "SELECT text FROM kept") == "a row"
    again.stop()
    again.remove()
    assert not server.place.home.exists()


@as_root
def test_as_root_unreachable_binaries_are_copied_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "only root enters"
    locked.mkdir(mode=0o700)
    for part in (postgres_place.PACKAGE, f"{postgres_place.PACKAGE}.libs"):
        (locked / part).symlink_to(postgres_place._wheel() / part)
    store = Path(tempfile.mkdtemp())
    store.chmod(0o755)
    monkeypatch.setattr(postgres_place, "_wheel", lambda: locked)
    monkeypatch.setattr(postgres_place, "STORES", (store,))
    try:
        server = EmbeddedPostgres(locked / "postgres", settings=FOR_TESTS)
        server.start()
        assert store in server.place.binaries.parents
        assert query(server, "SELECT 1") == 1
        server.stop()
        copied = server.place.binaries.stat().st_ino
        assert EmbeddedPostgres(locked / "postgres").place.binaries.stat().st_ino == copied
        server.remove()
    finally:
        shutil.rmtree(store)


def test_the_wrapper_gives_the_command_a_server_and_its_exit_status() -> None:
    command = 'echo "url $DATABASE_URL"; test -n "$VAR_DIR" && exit 7'
    with python("-m", "sasweb.embedded_postgres", "--", "sh", "-c", command) as wrapper:
        url = line_with(wrapper, "url ").removeprefix("url ")
        assert wrapper.wait(timeout=120) == 7
    assert not Path(str(conninfo_to_dict(url)["host"])).exists()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_the_wrapper_leaves_nothing_when_it_is_stopped(signum: signal.Signals) -> None:
    script = 'echo "url $DATABASE_URL"; exec sleep 60'
    with python("-m", "sasweb.embedded_postgres", "--", "sh", "-c", script) as wrapper:
        url = line_with(wrapper, "url ").removeprefix("url ")
        os.killpg(wrapper.pid, signum)  # as Ctrl-C does
        assert wrapper.wait(timeout=120) == 128 + signum
    assert not Path(str(conninfo_to_dict(url)["host"])).exists()


def test_the_wrapper_killed_leaves_no_server() -> None:
    script = """if True:
        import os, psycopg, time
        with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
            print("data", connection.execute("SHOW data_directory").fetchone()[0])
            print("sockets", connection.execute("SHOW unix_socket_directories").fetchone()[0])
        time.sleep(60)
    """
    with python("-m", "sasweb.embedded_postgres", "--", sys.executable, "-c", script) as wrapper:
        data = Path(line_with(wrapper, "data ").removeprefix("data "))
        sockets = Path(line_with(wrapper, "sockets ").removeprefix("sockets "))
        pid = int((data / "postmaster.pid").read_text().split()[0])
        wrapper.kill()
        wait_for(lambda: not is_alive(pid))
    shutil.rmtree(data.parents[1])
    shutil.rmtree(sockets)


def test_a_command_that_does_not_exist_is_reported_in_one_line() -> None:
    with python("-m", "sasweb.embedded_postgres", "--", "/no/such/command") as wrapper:
        assert wrapper.wait(timeout=120) == 1
