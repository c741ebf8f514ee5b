"""Runs the periodic jobs."""

import os
import sys
from argparse import SUPPRESS, ArgumentParser
from datetime import datetime

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import Error, close_old_connections, connections

from orders import jobs
from orders.management.role_command import wait_for_database
from orders.selectors.desk.supervisor import last_sweep_at
from sasweb.launcher import jobs_cluster, jobs_watch


class Command(BaseCommand):
    help = "Run the periodic jobs, including the supervisor. Runs until it is stopped."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--watch-stdin",
            action="store_true",
            help="stop as soon as the pipe on standard input closes",
        )
        parser.add_argument("--cluster-of", type=int, metavar="PID", help=SUPPRESS)  # the cluster itself

    def handle(self, *, watch_stdin: bool, cluster_of: int | None, **options: object) -> None:
        if cluster_of:
            run_cluster(watch=cluster_of)
            return
        if not wait_for_database():
            return
        watch = jobs_watch.JobsWatch(
            [
                sys.executable,
                str(settings.BASE_DIR / "manage.py"),
                "run_jobs",
                "--cluster-of",
                str(os.getpid()),
            ],
            last_sweep=read_last_sweep,
            unreachable=Error,
            say=self.stdout.write,
        )
        pipe = watch_stdin or os.environ.get("SASWEB_LAUNCHER_PIPE") == "1"
        watch.run(pipe=sys.stdin.fileno() if pipe else None)


def run_cluster(*, watch: int) -> None:
    """Runs the django-q2 cluster in this process. `watch` is the id of the process that watches it."""
    jobs_cluster.join(watch=watch)
    jobs.prepare()
    connections.close_all()  # the cluster forks, and a connection must not be shared
    call_command("qcluster")


def read_last_sweep() -> datetime | None:
    """When a supervisor last finished a sweep. Raises `django.db.Error` if the database cannot be reached."""
    close_old_connections()
    try:
        return last_sweep_at()
    except Error:
        connections.close_all()
        raise
