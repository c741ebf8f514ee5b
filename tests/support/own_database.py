"""A PostgreSQL server of a test's own, which the test may stop, starve and cut off; the ORM is pointed at it."""

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
from django.core.management import call_command
from django.db import connection
from psycopg.conninfo import conninfo_to_dict

from sasweb.embedded_postgres.server import FOR_TESTS, EmbeddedPostgres
from sasweb.launcher import children
from tests.support.proxy import DatabaseProxy


class OwnDatabase:
    """The server, and a proxy in front of it for the roles. The test itself connects directly to the server."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        self.proxy = DatabaseProxy(server.sockets, url=("sasweb", "sasweb"))

    @property
    def url(self) -> str:
        """The url through the proxy."""
        return self.proxy.url

    def crash(self) -> None:
        """Stops the server at once (SIGQUIT): every session is cut and recovery is left to the next start."""
        connection.close()
        self.server.stop(mode="immediate")

    def start(self) -> None:
        """Starts it again."""
        self.server.start()
        connection.close()

    def hang(self) -> None:
        """Stops all of the server's processes where they are (SIGSTOP): it takes connections and says nothing."""
        connection.close()
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets them go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        """The postmaster comes first, so that it starts no others meanwhile."""
        postmaster = int((self.server.place.data / "postmaster.pid").read_text().split("\n")[0])
        os.kill(postmaster, number)
        for child in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), number)

    def start_if_down(self) -> None:
        """Starts it again if it has stopped by itself."""
        connection.close()
        if not children.wait_until(self.server.is_ready, timeout=20.0, poll=0.2):
            self.server.stop(mode="immediate")
            self.server.start()

    def own_pid(self) -> int:
        """The pid of the backend that serves the test's own thread."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            return int(cursor.fetchone()[0])

    def act(self, statement: str) -> list[tuple[object, ...]]:
        """Runs a statement outside of any transaction, as an administrator would; returns its rows."""
        with psycopg.connect(self.server.url, autocommit=True) as session:
            cursor = session.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


@contextlib.contextmanager
def own_database(
    *, home: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[OwnDatabase]:
    """A server with an empty schema, removed afterwards. Use it with pytest-django's blocker lifted."""
    folder = Path(tempfile.mkdtemp(prefix="sasweb-own-"))
    folder.chmod(0o711)
    server = EmbeddedPostgres(
        home or folder / "home", settings={**FOR_TESTS, "shared_buffers": "32MB", **(settings or {})}
    )
    database: OwnDatabase | None = None
    try:
        server.start()
        database = OwnDatabase(server)
        with orm_at(server.url):
            call_command("migrate", verbosity=0)
            yield database
    finally:
        if database is not None:
            database.proxy.close()
        server.stop(mode="immediate")
        server.remove()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def orm_at(url: str) -> Iterator[None]:
    """Points this thread's Django connection at another server until the block ends."""
    parts = conninfo_to_dict(url)
    there: dict[str, object] = {
        "NAME": parts["dbname"],
        "USER": parts["user"],
        "HOST": parts["host"],
        "PORT": parts["port"],
    }
    connection.close()
    # Without the timeouts, which a migration on a busy machine could hit.
    there["OPTIONS"] = {**connection.settings_dict["OPTIONS"], "options": ""}
    before = {name: connection.settings_dict[name] for name in there}
    connection.settings_dict.update(there)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)
