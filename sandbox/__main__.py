"""`python -m sandbox`: runs the stand-ins until SIGTERM or SIGINT, and stops them within 2 s."""

import asyncio
import logging
import os
import resource
import signal
import sqlite3
import sys
from functools import partial
from pathlib import Path

from aiohttp import web

from sandbox import mail_sink, settings
from sandbox.app import Calls, make_app
from sandbox.commits import Commits
from sandbox.faults import SERVICES, FaultBoard
from sandbox.stock import put_in, read_first_stock

BACKLOG = 4096
"""Connections that may wait to be accepted."""
KEEP_ALIVE = 600.0
"""Seconds that an idle connection stays open: long enough that a client's pool does not pick closed ones."""
GRACE = 0.3
"""Seconds that a running request has to finish at the stop. Applied twice."""


class StartError(Exception):
    """Raised when the sandbox cannot start. The text is one line."""


def raise_file_limit() -> None:
    """Allows as many open files as the system permits."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as error:
        logging.getLogger("sandbox").warning("cannot raise the limit of open files: %s", error)


def _cannot_listen(config: settings.Settings, port: int, error: OSError) -> StartError:
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return StartError(
        f"cannot listen on {config.host_port(port)} ({reason}); set SANDBOX_BIND to another HOST:PORT"
    )


def _open_ledger(config: settings.Settings) -> Commits:
    try:
        config.var_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Commits(config.ledger)
    except (OSError, sqlite3.Error) as error:
        raise StartError(
            f"cannot use the ledger {config.ledger} ({error}); set VAR_DIR to another folder"
        ) from error


async def _put_in_stock(commits: Commits, path: Path) -> None:
    try:
        await commits.write(partial(put_in, products=read_first_stock(path)))
    except (OSError, ValueError, sqlite3.Error) as error:
        raise StartError(
            f"cannot use the first stock {path} ({error}); correct or remove the file"
        ) from error


async def serve(config: settings.Settings) -> None:
    """Serves until SIGTERM or SIGINT. Raises `StartError` when a port or the ledger is not available."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    commits = _open_ledger(config)
    faults = FaultBoard()
    calls = Calls(commits, faults)
    await _put_in_stock(commits, config.first_stock)
    runner = web.AppRunner(
        make_app(commits, faults, calls),
        access_log=None,
        handler_cancellation=True,  # a call that hangs must notice that its client has disconnected
        keepalive_timeout=KEEP_ALIVE,
        shutdown_timeout=GRACE,
    )
    try:
        sink = await _listen(config, runner, mail_sink.Sink(commits, faults))
        names = ", ".join(SERVICES)
        print(
            f"sandbox: http://{config.host_port(config.port)} ({names}), smtp {config.host_port(config.smtp_port)}",
            flush=True,
        )
        await stop.wait()
        sink.close()
    finally:
        calls.stop()
        await runner.cleanup()
        await commits.close()


async def _listen(config: settings.Settings, runner: web.AppRunner, sink: mail_sink.Sink) -> asyncio.Server:
    await runner.setup()
    try:
        server = await mail_sink.listen(config.host, config.smtp_port, sink)
    except OSError as error:
        raise _cannot_listen(config, config.smtp_port, error) from error
    try:
        await web.TCPSite(runner, config.host, config.port, backlog=BACKLOG).start()
    except OSError as error:
        raise _cannot_listen(config, config.port, error) from error
    return server


def main() -> int:
    """Runs the sandbox. Returns its exit status."""
    logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="sandbox: %(message)s")
    try:
        config = settings.read(os.environ)
        os.umask(0o077)  # the ledger has customers' emails
        raise_file_limit()
        asyncio.run(serve(config))
    except (settings.SettingsError, StartError) as error:
        print(f"sandbox: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
