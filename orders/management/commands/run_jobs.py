"""Runs the periodic jobs."""

import os
import sys
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import structlog
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import Error, close_old_connections, connections
from django_q.models import Success

from orders import jobs
from orders.management.role_command import wait_for_database
from orders.selectors.desk.supervisor import last_sweep_at
from sasweb.launcher import jobs_cluster, jobs_watch
from sasweb.launcher.jobs_watch import Cluster

log = structlog.get_logger()

CLUSTERS = (jobs.SUPERVISION, jobs.GENERAL)
NO_JOB_ENDED = 300.0
"""Seconds without an ended job after which the general cluster is replaced: far longer than a job may take."""


class Command(BaseCommand):
    help = "Run the periodic jobs, including the supervisor. Runs until it is stopped."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--watch-stdin",
            action="store_true",
            help="stop as soon as the pipe on standard input closes",
        )
        parser.add_argument("--cluster", choices=CLUSTERS, help=SUPPRESS)  # the cluster itself
        parser.add_argument("--watched-by", type=int, metavar="PID", help=SUPPRESS)

    def handle(
        self, *, watch_stdin: bool, cluster: str | None, watched_by: int | None, **options: object
    ) -> None:
        if cluster and watched_by:
            run_cluster(cluster, watch=watched_by)
            return
        if not wait_for_database():
            return
        watch = jobs_watch.JobsWatch(
            [supervision_cluster(), general_cluster()], unreachable=Error, say=self.stdout.write
        )
        log.info("started", action="start", worker="jobs")
        pipe = watch_stdin or os.environ.get("SASWEB_LAUNCHER_PIPE") == "1"
        watch.run(pipe=sys.stdin.fileno() if pipe else None)


def supervision_cluster() -> Cluster:
    """The supervisor and alerts. Each sweep is a sign that it works."""
    return Cluster(
        name="supervision",
        argv=argv(jobs.SUPERVISION),
        env=environment(jobs.SUPERVISION),
        last_sign=lambda: ask(last_sweep_at),
        standstill=f"no supervisor has swept for {jobs_watch.STALE_AFTER:.0f} s",
    )


def general_cluster() -> Cluster:
    """Everything else. Each job that ends is a sign that it works, and some end every minute."""
    return Cluster(
        name="general",
        argv=argv(jobs.GENERAL),
        env=environment(jobs.GENERAL),
        last_sign=lambda: ask(last_job_at),
        standstill=f"no job has ended for {NO_JOB_ENDED:.0f} s",
        stale_after=NO_JOB_ENDED,
        grace=NO_JOB_ENDED,
    )


def argv(cluster: str) -> Sequence[str]:
    """The command that runs a cluster, watched by this process."""
    script = str(settings.BASE_DIR / "manage.py")
    return [sys.executable, script, "run_jobs", "--cluster", cluster, "--watched-by", str(os.getpid())]


def environment(cluster: str) -> Mapping[str, str]:
    """django-q2 reads the name of its cluster, and with it the number of workers, from the environment."""
    return {**os.environ, "Q_CLUSTER_NAME": cluster}


def run_cluster(cluster: str, *, watch: int) -> None:
    """Runs the django-q2 cluster in this process. `watch` is the id of the process that watches it."""
    jobs_cluster.join(watch=watch)
    jobs.prepare(cluster)
    connections.close_all()  # the cluster forks, and a connection must not be shared
    call_command("qcluster")


def last_job_at() -> datetime | None:
    """When a job of the general cluster last ended well; None if none has."""
    ended = Success.objects.filter(cluster=jobs.GENERAL).order_by("-stopped")
    stopped: datetime | None = ended.values_list("stopped", flat=True).first()
    return stopped


def ask(last_sign: Callable[[], datetime | None]) -> datetime | None:
    """Asks on a usable connection. Raises `django.db.Error` if the database cannot be reached."""
    close_old_connections()
    try:
        return last_sign()
    except Error:
        connections.close_all()
        raise
