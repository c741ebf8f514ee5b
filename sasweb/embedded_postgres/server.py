"""The embedded PostgreSQL server, for machines without one. `manage.py up`, tests and benchmarks run it.

    python -m sasweb.embedded_postgres -- COMMAND…     runs a command with DATABASE_URL set to a temporary server

The binaries come in a wheel. A server keeps everything in its home folder, except its socket, which is in a folder that
only its owner can enter, so that nobody else on the machine can connect. `sasweb.embedded_postgres.place` decides where
it lives and which user runs it.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg

from sasweb.embedded_postgres.data import end_leftovers, make_data
from sasweb.embedded_postgres.place import Place, PostgresError, find_place
from sasweb.launcher import children

PORT = "5432"  # only names the socket file: the server does not listen on TCP

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "wal_compression": "on",
    "fsync": "on",
    "synchronous_commit": "on",
    "autovacuum_naptime": "5s",  # the channels are tables that constantly fill and empty
    "max_parallel_workers_per_gather": "0",  # needs more of /dev/shm than a container has, and gains nothing here
    "log_checkpoints": "off",
}
# With these a machine that crashes may lose data. A server that is killed does not, because synchronous_commit stays
# on.
FOR_TESTS = {"fsync": "off", "full_page_writes": "off"}

LOCK_TIMEOUT = 2.0  # seconds: a killed process holds its lock until the kernel has cleaned up
STOP_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class EmbeddedPostgres:
    """One server. It may be started and stopped any number of times.

    A launcher that runs the server as one of its own children uses `prepare`, `argv`, `environment`, `place.user`,
    `is_ready` and `complete_start` instead of `start`.
    """

    def __init__(
        self,
        home: Path,
        *,
        settings: Mapping[str, str] | None = None,
        note: Path | None = None,
        log: Path | None = None,
    ) -> None:
        """`note` is a file that holds the server's url while it runs; `log` defaults to a file beside the data."""
        self.home = home
        self.note = note
        self._settings = {**SETTINGS, **(settings or {})}
        self._log = log
        self._place: Place | None = None
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def place(self) -> Place:
        """Where the binaries and the data are, and who runs the server. Found, and created where missing, on first
        use."""
        if self._place is None:
            self._place = find_place(self.home)
        return self._place

    @property
    def sockets(self) -> Path:
        """The socket's folder: short, because a socket's path has at most 107 bytes, and the same at every start."""
        key = f"{self.place.home}:{os.geteuid()}"
        return Path("/tmp") / f"sasweb-{hashlib.sha256(key.encode()).hexdigest()[:16]}"

    @property
    def url(self) -> str:
        return self._url("sasweb")

    @property
    def argv(self) -> list[str]:
        """The command that runs the server in the foreground."""
        settings = {"unix_socket_directories": str(self.sockets), "port": PORT, **self._settings}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self.place.binaries / "postgres"), "-D", str(self.place.data), *options]

    @property
    def environment(self) -> dict[str, str]:
        """The server's environment, without PGPORT and the like: they are meant for clients and would change its
        settings."""
        return {name: value for name, value in os.environ.items() if not name.startswith("PG")}

    def prepare(self) -> None:
        """Prepares a start: locks the home, creates the data if there is none, ends servers that an earlier start left.

        Raises `PostgresError`.
        """
        self._take_lock()
        make_data(self.place, env=self.environment, sync=self._settings["fsync"] == "on")
        end_leftovers(self.place.data)
        self._make_socket_folder()

    def start(self, *, timeout: float = 60.0) -> None:
        """Starts the server and waits until it takes connections. Raises `PostgresError`.

        A server started in the main thread shuts down when this process ends, for whatever reason.
        """
        self.prepare()
        log = self._log or self.place.home / "postgres.log"
        with log.open("ab") as output:
            self._process = children.spawn(
                self.argv,
                env=self.environment,
                output=output,
                user=self.place.user,
                death_signal=signal.SIGINT,
            )
        ready = children.wait_until(lambda: self._has_died() or self.is_ready(), timeout=timeout)
        if not ready or self._has_died():
            self.stop(mode="immediate")
            last_line = (log.read_text(errors="replace").strip().splitlines() or ["nothing"])[-1]
            raise PostgresError(
                f"the embedded PostgreSQL does not start; the last line of {log} is: {last_line}"
            )
        self.complete_start()

    def is_ready(self) -> bool:
        """Whether the server takes connections. Asks only once its status file says so: it logs each refusal."""
        note = self.place.data / "postmaster.pid"
        try:
            if note.read_text().splitlines()[7].strip() != "ready":
                return False
        except (FileNotFoundError, IndexError):
            return False
        try:
            psycopg.connect(self._url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def complete_start(self) -> None:
        """Call this when the server takes connections: creates the database if there is none, and writes the note."""
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'sasweb'").fetchone():
                connection.execute("CREATE DATABASE sasweb")
        if self.note:
            new_note = self.note.with_name(f".{self.note.name}-{os.getpid()}")
            new_note.unlink(missing_ok=True)
            new_note.touch(mode=0o600)
            new_note.write_text(self.url + "\n")
            new_note.replace(self.note)

    def stop(self, *, mode: str = "fast", timeout: float = 10.0) -> None:
        """Stops the server: "fast" ends the sessions and writes a checkpoint, "immediate" leaves recovery to the next
        start.

        After `timeout` seconds it is stopped immediately, and 3 seconds later killed. Does nothing if it is not
        running.
        """
        if self._process:
            for signum, limit in (
                (STOP_SIGNALS[mode], timeout),
                (signal.SIGQUIT, 3.0),
                (signal.SIGKILL, 3.0),
            ):
                children.send(self._process.pid, signum)
                if children.wait_until(self._has_died, timeout=limit, poll=0.02):
                    break
            self._process = None
        self.forget()

    def forget(self) -> None:
        """Call this when the server has ended: removes the note and the socket, and unlocks the home."""
        if self.note:
            self.note.unlink(missing_ok=True)
        if self._lock is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def remove(self) -> None:
        """Deletes a stopped server and all its data."""
        shutil.rmtree(self.place.home)
        if self.home.is_symlink():
            self.home.unlink()

    def _url(self, database: str) -> str:
        return f"postgresql://sasweb@/{database}?host={self.sockets}&port={PORT}"

    def _has_died(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _take_lock(self) -> None:
        """Locks the home: two servers on one data folder would each mistake the other for a leftover and kill it."""
        if self._lock is not None:
            return
        lock = os.open(self.place.home, os.O_RDONLY)
        if not children.wait_until(lambda: try_lock(lock), timeout=LOCK_TIMEOUT):
            os.close(lock)
            raise PostgresError(f"the PostgreSQL server in {self.home} is in use by another process")
        self._lock = lock

    def _make_socket_folder(self) -> None:
        user = self.place.user
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        if user and self.sockets.lstat().st_uid == os.geteuid():
            os.chown(self.sockets, user.uid, user.gid)
        status = self.sockets.lstat()
        if (
            self.sockets.is_symlink()
            or status.st_uid != (user.uid if user else os.geteuid())
            or status.st_mode & 0o077
        ):
            raise PostgresError(
                f"{self.sockets} cannot be used for the server's socket, because others can access it: delete it"
            )
        for stale in self.sockets.iterdir():
            stale.unlink()


def try_lock(file: int) -> bool:
    """Locks an open file or folder for this process; False if another holds it. The kernel unlocks it when the process
    ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def temporary_server(*, settings: Mapping[str, str] | None = None) -> Iterator[EmbeddedPostgres]:
    """A server in a temporary folder that is deleted at the end; without fsync unless `settings` say otherwise."""
    folder = Path(tempfile.mkdtemp(prefix="sasweb-postgres-"))
    folder.chmod(0o711)  # when we are root, the server's user has to enter it
    server = EmbeddedPostgres(folder / "home", settings={**FOR_TESTS, **(settings or {})})
    try:
        server.start()
        yield server
    finally:
        server.stop(mode="immediate")
        server.remove()
        shutil.rmtree(folder)


def main(arguments: list[str]) -> int:
    """Runs a command with a temporary server and a temporary `VAR_DIR`.

    Returns the command's exit status, or 128 + n when signal n ended it.
    """
    parser = argparse.ArgumentParser(
        prog="python -m sasweb.embedded_postgres", description="Run a command with a temporary server."
    )
    parser.add_argument("command", nargs="+", help="the command and its arguments, after --")
    argv = parser.parse_args(arguments).command
    command: subprocess.Popen[bytes] | None = None

    def pass_on(signum: int, _frame: object) -> None:
        if command is None:
            raise SystemExit(128 + signum)
        if signum != signal.SIGINT:  # Ctrl-C has already reached the command, which shares the terminal
            children.send(command.pid, signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, pass_on)
    with temporary_server() as server:
        env = {**os.environ, "DATABASE_URL": server.url, "VAR_DIR": str(server.home.parent / "var")}
        command = children.spawn(argv, env=env, stdin=None, death_signal=signal.SIGTERM, own_session=False)
        status = command.wait()
    return status if status >= 0 else 128 - status
