"""`python -m sandbox`: starts the stand-ins and stops them at SIGTERM or SIGINT, within 2 s."""

import asyncio
import logging
import os
import resource
import signal
import sqlite3
import sys

from aiohttp import web

from sandbox import mail_sink as mail
from sandbox import settings
from sandbox.app import Calls, make_app
from sandbox.commits import Commits
from sandbox.faults import SERVICES, FaultBoard

BACKLOG = 4096
"""Connections that may wait to be accepted."""
KEEP_ALIVE = 600.0
"""Seconds that an idle connection stays open: long, so that a client's pool does not meet closed ones by chance."""
GRACE = 0.3
"""Seconds that a request in hand gets at the stop, twice."""


class StartError(Exception):
    """Raised when the sandbox cannot start; its text is one line."""


def raise_file_limit() -> None:
    """Allows as many open connections as the system does."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as error:
        logging.getLogger("sandbox").warning("the limit of open files stays as it is: %s", error)


def _cannot_listen(where: settings.Settings, port: int, error: OSError) -> StartError:
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return StartError(
        f"cannot listen on {where.address(port)} ({reason}): SANDBOX_BIND sets another HOST:PORT"
    )


def _open_ledger(where: settings.Settings) -> Commits:
    try:
        where.var_dir.mkdir(parents=True, exist_ok=True)
        return Commits(where.ledger)
    except (OSError, sqlite3.Error) as error:
        raise StartError(
            f"cannot use the ledger {where.ledger} ({error}): VAR_DIR sets another folder"
        ) from error


async def serve(where: settings.Settings) -> None:
    """Serves until SIGTERM or SIGINT. Raises `StartError` when a port or the ledger cannot be had."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    commits = _open_ledger(where)
    faults = FaultBoard()
    calls = Calls(commits, faults)
    runner = web.AppRunner(
        make_app(commits, faults, calls),
        access_log=None,
        handler_cancellation=True,  # a call that hangs must learn that its client left
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=GRACE,
    )
    try:
        sink = await _listen(where, runner, mail.Sink(commits, faults))
        names = ", ".join(SERVICES)
        print(
            f"sandbox: http://{where.address(where.port)} ({names}), smtp {where.address(where.smtp_port)}",
            flush=True,
        )
        await stop.wait()
        sink.close()
    finally:
        calls.stop()
        await runner.cleanup()
        await commits.close()


async def _listen(where: settings.Settings, runner: web.AppRunner, sink: mail.Sink) -> asyncio.Server:
    await runner.setup()
    try:
        server = await mail.listen(where.host, where.smtp_port, sink)
    except OSError as error:
        raise _cannot_listen(where, where.smtp_port, error) from error
    try:
        await web.TCPSite(runner, where.host, where.port, backlog=BACKLOG).start()
    except OSError as error:
        raise _cannot_listen(where, where.port, error) from error
    return server


def main() -> int:
    """Runs the sandbox and returns its exit status."""
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="sandbox: %(message)s")
    try:
        where = settings.read(os.environ)
        raise_file_limit()
        asyncio.run(serve(where))
    except (settings.SettingsError, StartError) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
