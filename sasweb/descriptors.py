"""How many connections a web process takes, and the files that it may open for them.

Every connection is an open file. A process that has no more of them can neither take a connection nor open one to the
database, so the web takes fewer connections than it may open files.
"""

import resource

MOST_CONNECTIONS = 3300
"""Connections that one web process takes if it may open enough files; a third of them may be live updates, and
nearly as many requests that wait."""

SPARE = 400
"""Files kept for everything else: some 60 for the database, static files and logs, and three times the 100 connections
that the event loop takes at once, because those that have to make room for them are only closed two turns later."""

MOST_FILES = 65_536


def raise_limit() -> int:
    """Lets this process and its children open as many files as its hard limit permits, at most `MOST_FILES`. Returns
    how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= most:
        return soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return most


def most_connections() -> int:
    """How many connections this process can take with the files that it may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(MOST_CONNECTIONS, soft - SPARE))


def describe_shortage(limit: int) -> str:
    """What to do if a process may open too few files to take `MOST_CONNECTIONS`. Empty if it may open enough."""
    enough = MOST_CONNECTIONS + SPARE
    if limit == resource.RLIM_INFINITY or limit >= enough:
        return ""
    return (
        f"each web process may open {limit} files, so it takes {most_connections()} connections and not"
        f" {MOST_CONNECTIONS}; allow it at least {enough}, for example with LimitNOFILE={MOST_FILES} in its systemd"
        f" unit, or ulimit -n"
    )
