"""Starts everything on one machine, and keeps it running."""

import contextlib
import os
import signal
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand

from orders.watchdog.notices import Notice
from orders.watchdog.watch import PERIOD
from sasweb.config import Config
from sasweb.embedded_postgres.place import PostgresError
from sasweb.embedded_postgres.server import LOCK_TIMEOUT, EmbeddedPostgres, try_lock
from sasweb.launcher import launch, shared_settings
from sasweb.launcher.children import wait_until
from sasweb.launcher.launch import LaunchError
from sasweb.launcher.log_lines import Output
from sasweb.launcher.private_folder import make_private
from sasweb.launcher.processes import ProcessManager, Spec

POSTGRES_START = 60.0  # seconds; recovery from a crash takes long after many writes
SLOW_START = 30.0  # seconds after which the start is reported as slow
LAST_LINES = 10.0  # seconds that the banner waits for the first line of each process, so that none buries it


class Command(BaseCommand):
    help = (
        "Start PostgreSQL (unless DATABASE_URL is set), the web server, all roles and, with DEBUG, the sandbox and the"
        " demonstration; with one log."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--scale",
            default="",
            metavar="ROLE=N,…",
            help="how many processes of a role to run (default: one of each)",
        )

    def handle(self, *, scale: str, **options: object) -> None:
        try:
            config = settings.CONFIG
            is_demonstration = launch.is_demonstration(config)
            numbers = launch.read_scale(scale, has_sandbox=is_demonstration)
            if config.drill:
                launch.check_drill()
            elif not is_demonstration:
                launch.check_services()
            os.umask(0o077)  # for all processes
            make_private(config.var_dir, has_server=not os.environ.get("DATABASE_URL"))
            with the_only_launcher(config.var_dir):
                up(config, numbers)
        except (LaunchError, PostgresError, OSError) as error:
            sys.exit(f"sasweb: {error}")


@contextlib.contextmanager
def the_only_launcher(var_dir: Path) -> Iterator[None]:
    """Holds the lock of `VAR_DIR`. Raises `LaunchError` if another launcher has it."""
    var_dir.mkdir(parents=True, exist_ok=True)
    lock = os.open(var_dir / shared_settings.LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not wait_until(lambda: try_lock(lock), timeout=LOCK_TIMEOUT):
            other = os.read(lock, 20).decode()
            raise LaunchError(
                f"already running as process {other} with VAR_DIR={var_dir}; set another VAR_DIR"
            )
        os.truncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        shared_settings.withdraw(var_dir)
        try:
            yield
        finally:
            shared_settings.withdraw(var_dir)
    finally:
        os.close(lock)


def up(config: Config, scale: dict[str, int]) -> None:
    """Runs everything until a signal stops it. Raises `LaunchError` or `PostgresError`."""
    launch.check_two_roles(config)
    launch.check_ports(config, scale)
    url = os.environ.get("DATABASE_URL", "")
    output = Output(sys.stdout.fileno())
    output.expect([*(f"{role}.1" for role in scale), "postgres", "load_demo"])
    if url:
        launch.check_database(url, config.listen_database_url)
        with ProcessManager(output) as manager:
            run_roles(manager, config, scale, url)
        return
    server = EmbeddedPostgres(config.var_dir / "postgres", note=config.var_dir / "database-url")
    try:
        with ProcessManager(output) as manager:
            start_postgres(manager, server)
            run_roles(manager, config, scale, server.url)
    finally:
        server.forget()


def start_postgres(manager: ProcessManager, server: EmbeddedPostgres) -> None:
    """Starts the embedded server as a child like the others, and waits until it accepts connections."""
    child = manager.start(
        Spec(
            name="postgres",
            argv=server.argv,
            env=server.environment,
            user=server.place.user,
            prepare=server.prepare,
            death_signal=signal.SIGINT,
            stop_signals=(signal.SIGINT, signal.SIGQUIT, signal.SIGKILL),
            is_foundation=True,
        )
    )
    deadline = time.monotonic() + POSTGRES_START
    manager.run(
        until=lambda: server.is_ready() or child.deaths.quick > 0 or time.monotonic() > deadline, poll=0.05
    )
    if not manager.is_stopping:
        if not server.is_ready():
            raise LaunchError("the embedded PostgreSQL did not start; see its messages above")
        server.complete_start()


def run_roles(manager: ProcessManager, config: Config, scale: dict[str, int], database_url: str) -> None:
    """Prepares the database, starts all roles, prints their urls and accounts, and keeps them running."""
    env = launch.environment(config, database_url=database_url)
    is_demonstration = launch.is_demonstration(config)
    tasks: list[tuple[str, ...]] = [("migrate", "--no-input")]
    if config.migrate_database_url:
        tasks.append(("grant_rights",))
    if is_demonstration:
        tasks.append(("load_demo",))
    for name, *arguments in tasks:
        status = manager.run_to_end(launch.task(name, *arguments, env=env))
        if manager.is_stopping:
            return
        if status:
            raise LaunchError(f"manage.py {name} failed; see its messages above")
    if is_demonstration:
        manager.output.plain(f"API token: {(config.var_dir / 'demo-token').read_text().strip()}")
    env.pop("MIGRATE_DATABASE_URL", None)  # the roles have no business with the owner's password
    if is_demonstration:
        shared_settings.share(config.var_dir, launch.settings_of(env))
    for spec in launch.specs(scale, env):
        manager.start(spec)
    if scale["web"]:
        wait_for_the_web(manager, config)
        if config.watchdog:
            threading.Thread(target=watch_the_web, args=(config,), name="watch", daemon=True).start()
    manager.run()


def watch_the_web(config: Config) -> None:
    """Tells operators when the web does not answer, which watches everything else. Runs until the process ends."""
    notice = Notice("web")
    while True:
        if launch.is_ready(config, probe="/healthz"):
            notice.clear()
        else:
            notice.note(f"the web does not answer at {config.bind}")
        time.sleep(PERIOD)


def wait_for_the_web(manager: ProcessManager, config: Config) -> None:
    """Prints the banner when the web server is ready and the others have said so, too, and a warning before that if it
    takes long."""
    began = time.monotonic()
    manager.run(until=lambda: launch.is_ready(config) or time.monotonic() > began + SLOW_START, poll=0.1)
    if not manager.is_stopping and not launch.is_ready(config):
        manager.output.line("up", f"not ready after {SLOW_START:.0f} s; the messages above may say why")
        manager.run(until=lambda: launch.is_ready(config))
    ready = time.monotonic()
    manager.run(until=lambda: manager.has_heard_all or time.monotonic() > ready + LAST_LINES, poll=0.1)
    if not manager.is_stopping:
        manager.output.plain(launch.banner(config))
