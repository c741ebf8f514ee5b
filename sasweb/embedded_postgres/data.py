"""The data folder of an embedded PostgreSQL server: making it, and ending what an earlier start left at work on it."""

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
    """Makes the data folder if there is none. Raises `PostgresError`, also for one that another version made."""
    if not (place.data / "PG_VERSION").is_file():
        _initdb(place, env=env, sync=sync)
    version = (place.data / "PG_VERSION").read_text().strip()
    if version != MAJOR:
        raise PostgresError(f"{place.data} was made by PostgreSQL {version}, this is {MAJOR}: move it away")


def _initdb(place: Place, *, env: Mapping[str, str], sync: bool) -> None:
    """Makes it under another name first, so that an interrupted run is not taken for a whole one."""
    new = place.data.with_name("data.new")
    shutil.rmtree(new, ignore_errors=True)
    argv = [str(place.binaries / "initdb"), "-D", str(new), "--username=sasweb", "--auth=trust"]
    argv += ["--locale-provider=builtin", "--locale=C.UTF-8", "--encoding=UTF8", "--no-instructions"]
    argv += [] if sync else ["--no-sync"]
    initdb = children.spawn(argv, env=env, cwd=place.home, output=subprocess.PIPE, user=place.user)
    output = initdb.communicate()[0].decode(errors="replace")
    if initdb.returncode:
        reason = (output.strip().splitlines() or ["nothing"])[-1]
        raise PostgresError(f"initdb cannot make {place.data}: {reason}")
    new.rename(place.data)


def end_leftovers(data: Path) -> None:
    """Ends what still runs on this data: after `kill -9` of its parent a server may yet be shutting down.

    PostgreSQL itself goes by the number in postmaster.pid, which may belong to a stranger by now; so the file is
    deleted once nothing is at work. Raises `PostgresError` if something does not end, 13 seconds later.
    """
    for signum, patience in ((signal.SIGINT, 5.0), (signal.SIGQUIT, 3.0), (signal.SIGKILL, 5.0)):
        left = _at_work(data)
        numbers = {stat.pid for stat in left}
        for stat in left:
            if (
                signum == signal.SIGKILL or stat.parent not in numbers
            ):  # the server; its own children follow it
                children.send(stat.pid, signum)
        if children.wait_until(lambda: not _at_work(data), timeout=patience if left else 0.0):
            (data / "postmaster.pid").unlink(missing_ok=True)
            return
    raise PostgresError(f"a PostgreSQL server that does not end is still at work in {data}")


def _at_work(data: Path) -> list[children.Stat]:
    """The server processes that have the data folder as their working folder, as all of PostgreSQL's have."""
    found = []
    for stat in children.processes():
        if stat.name == "postgres" and not stat.is_zombie:
            with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
                if Path(f"/proc/{stat.pid}/cwd").readlink() == data:
                    found.append(stat)
    return found
