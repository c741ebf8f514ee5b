"""The data folder of an embedded PostgreSQL server: creating it, and ending servers that an earlier start left
running."""

import contextlib
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sasweb.embedded_postgres.place import Place, PostgresError
from sasweb.launcher import children

MAJOR = "18"


def make_data(place: Place, *, env: Mapping[str, str], sync: bool) -> None:
    """Creates the data folder if there is none. Raises `PostgresError`, also when another version created it."""
    if not (place.data / "PG_VERSION").is_file():
        _initdb(place, env=env, sync=sync)
    version = (place.data / "PG_VERSION").read_text().strip()
    if version != MAJOR:
        raise PostgresError(
            f"{place.data} was created by PostgreSQL {version}, but this is {MAJOR}: move it away"
        )


def _initdb(place: Place, *, env: Mapping[str, str], sync: bool) -> None:
    """Creates it under another name first, so that an interrupted run is not mistaken for a complete one."""
    new = place.data.with_name("data.new")
    shutil.rmtree(new, ignore_errors=True)
    argv = [str(place.binaries / "initdb"), "-D", str(new), "--username=sasweb", "--auth=trust"]
    argv += ["--locale-provider=builtin", "--locale=C.UTF-8", "--encoding=UTF8", "--no-instructions"]
    argv += [] if sync else ["--no-sync"]
    initdb = children.spawn(argv, env=env, cwd=place.home, output=subprocess.PIPE, user=place.user)
    output = initdb.communicate()[0].decode(errors="replace")
    if initdb.returncode:
        reason = (output.strip().splitlines() or ["no output"])[-1]
        raise PostgresError(f"initdb cannot create {place.data}: {reason}")
    new.rename(place.data)


def end_leftovers(data: Path) -> None:
    """Ends servers that still run on this data: after `kill -9` of its parent a server may still be shutting down.

    PostgreSQL itself goes by the number in postmaster.pid, which may belong to an unrelated process by now, so the file
    is deleted once no server is running. Raises `PostgresError` after 13 seconds if a server does not end.
    """
    for signum, limit in ((signal.SIGINT, 5.0), (signal.SIGQUIT, 3.0), (signal.SIGKILL, 5.0)):
        servers = _running_servers(data)
        numbers = {stat.pid for stat in servers}
        for stat in servers:
            if (
                signum == signal.SIGKILL or stat.parent not in numbers
            ):  # only the server: its children follow it
                children.send(stat.pid, signum)
        if children.wait_until(lambda: not _running_servers(data), timeout=limit if servers else 0.0):
            (data / "postmaster.pid").unlink(missing_ok=True)
            return
    raise PostgresError(f"a PostgreSQL server is still running in {data} and does not end")


def _running_servers(data: Path) -> list[children.Stat]:
    """The server processes whose working folder is the data folder, as it is for all of PostgreSQL's processes."""
    servers = []
    for stat in children.processes():
        if stat.name == "postgres" and not stat.is_zombie:
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if Path(f"/proc/{stat.pid}/cwd").readlink() == data:
                    servers.append(stat)
    return servers
