"""Runs a benchmark on two cores, with its own PostgreSQL server, configured as in production.

    .venv/bin/python -m bench NAME [--help | …]     throughput, latency, load, concurrency, scale, parked,
                                                     recovery, under_fault, lost_replies, retention, path,
                                                     compare, console, queries, pages, signins, rest
    .venv/bin/python -m bench picture               draws the figures in results.md for the README

The processes and the server share the two cores. `python -m bench.NAME` runs a benchmark on the server of DATABASE_URL
and deletes the orders there; it refuses when DATABASE_URL is not set. `compare` runs benchmarks of two commits, which
have their own servers, and needs none.
"""

import os
import signal
import sys
from collections.abc import Mapping

from bench import machine, picture
from sasweb.embedded_postgres.place import PostgresError
from sasweb.embedded_postgres.server import FOR_TESTS, SETTINGS, temporary_server
from sasweb.launcher import children

NAMES = (
    *("throughput", "latency", "concurrency", "scale", "parked", "recovery", "under_fault", "lost_replies"),
    *("retention", "load", "path", "compare", "console", "queries", "pages", "signins", "rest"),
)
WITHOUT_SERVER = ("compare",)
SPECIAL_SETTINGS = {"path": {"autovacuum": "off", "full_page_writes": "off"}}
"""Otherwise the WAL of an order would depend on when the server last vacuumed a table and made a checkpoint."""
CORES = 2
HELP = frozenset({"-h", "--help"})
MISUSED = 2
"""The exit status after arguments that name no benchmark."""


def main(arguments: list[str]) -> int:
    """Runs the benchmark. Returns its exit status."""
    if not arguments or arguments[0] in HELP:
        print(__doc__, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else MISUSED
    if arguments == ["picture"]:
        picture.main()
        return 0
    if arguments[0] not in NAMES:
        problem = (
            "picture has no options" if arguments[0] == "picture" else f"there is no benchmark {arguments[0]}"
        )
        print(f"bench: {problem}; --help lists what there is", file=sys.stderr)
        return MISUSED
    if HELP.intersection(arguments):
        return run(arguments, os.environ)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    print(machine.describe(), flush=True)
    if arguments[0] in WITHOUT_SERVER:
        return run(arguments, os.environ)
    settings = {name: SETTINGS.get(name, "on") for name in FOR_TESTS}
    with temporary_server(settings={**settings, **SPECIAL_SETTINGS.get(arguments[0], {})}) as server:
        env = {**os.environ, "DATABASE_URL": server.url, "VAR_DIR": str(server.home.parent / "var")}
        env["LIMITS"] = "off"  # one client stands for many
        return run(arguments, env)


def run(arguments: list[str], env: Mapping[str, str]) -> int:
    """Runs the benchmark in its own process. Returns its exit status."""
    name, *options = arguments
    argv = [sys.executable, "-m", f"bench.{name}", *options]
    command = children.spawn(argv, env=env, stdin=None, death_signal=signal.SIGTERM, own_session=False)
    return abs(command.wait())


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except PostgresError as error:
        sys.exit(f"bench: {error}")
