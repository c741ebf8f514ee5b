"""Debian's PgBouncer in transaction mode, in front of a test's own PostgreSQL server."""

import contextlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg

from tests.support.own_database import OwnDatabase
from tests.support.ports import free_ports
from tests.support.wait import until

PROGRAM = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
CONFIGURATION = """
[databases]
sasweb = host={sockets} dbname=sasweb user=sasweb
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 10
{more}
"""


@contextlib.contextmanager
def a_pooler(database: OwnDatabase, folder: Path, *, more: str = "") -> Iterator[str]:
    """Runs PgBouncer with `more` configuration until the block ends; yields the url through it.

    PgBouncer refuses to run as root, so then it runs as the user of the server's sockets.
    """
    port = free_ports()
    configuration = folder / f"pgbouncer-{port}.ini"
    configuration.write_text(CONFIGURATION.format(sockets=database.server.sockets, port=port, more=more))
    configuration.chmod(0o644)
    assert PROGRAM, "these tests need PgBouncer"
    as_user = []
    if os.getuid() == 0:
        as_user = ["-u", pwd.getpwuid(database.server.sockets.stat().st_uid).pw_name]
    command = [PROGRAM, "-q", *as_user, str(configuration)]
    url = f"postgresql://sasweb@127.0.0.1:{port}/sasweb"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: process.poll() is not None or _answers(url), what="PgBouncer")
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield url
        finally:
            process.terminate()
            process.wait(30)


def _answers(url: str) -> bool:
    with contextlib.suppress(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=2).close()
        return True
    return False
