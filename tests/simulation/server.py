"""The PostgreSQL servers of a simulation. Each life has one of its own, which works only when it is told to.

A server that other lives use as well would differ from run to run: how long dead rows stay depends on the oldest
transaction in any of its databases, and where new rows go depends on that.
"""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sasweb.embedded_postgres.server import EmbeddedPostgres
from sasweb.launcher import children

SETTINGS = {
    "shared_buffers": "128MB",
    "max_connections": "200",
    # A crash loses the data, and nobody wants it any more.
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "wal_init_zero": "off",
    "update_process_title": "off",
    # But each commit writes its log: rows are only marked as committed once the log is written.
    "synchronous_commit": "on",
    # Nothing happens by itself: no vacuum, no page that is locked because it is being written.
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "1d",
    "max_wal_size": "32GB",
    "track_counts": "off",
    "io_method": "sync",
    "synchronize_seqscans": "off",
    "jit": "off",
    # The simulation finds deadlocks itself, at once.
    "deadlock_timeout": "1h",
}


@contextmanager
def running_server(home: Path, *, copy_of: Path | None = None) -> Iterator[EmbeddedPostgres]:
    """A server in `home` while the block lasts, or one with a copy of the data of the stopped server in `copy_of`,
    which is deleted at the end."""
    server = EmbeddedPostgres(home, settings=SETTINGS)
    if copy_of is not None:
        subprocess.run(["cp", "-a", f"{copy_of.resolve()}/data", str(server.place.data)], check=True)
    server.prepare()
    with (server.place.home / "postgres.log").open("ab") as log:
        # SIGQUIT, should this process be killed, ends stopped backends, too.
        process = children.spawn(
            server.argv,
            env=server.environment,
            output=log,
            user=server.place.user,
            death_signal=signal.SIGQUIT,
        )
    try:
        if not children.wait_until(server.is_ready, timeout=60.0, poll=0.02):
            raise TimeoutError((server.place.home / "postgres.log").read_text())
        server.complete_start()
        yield server
    finally:
        children.send(process.pid, signal.SIGQUIT if copy_of else signal.SIGINT)
        process.wait(30.0)
        server.forget()
        if copy_of is not None:
            server.remove()
