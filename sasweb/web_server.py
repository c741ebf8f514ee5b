"""gunicorn's settings: `python -m gunicorn -c python:sasweb.web_server sasweb.asgi:application`."""

import logging
import os
import signal
from typing import Any

from django.utils.module_loading import import_string

from sasweb import descriptors, garbage, logs
from sasweb.config import read
from sasweb.launcher.children import set_death_signal

bind = read().bind
workers = int(os.environ.get("WEB_CONCURRENCY", "1"))
worker_class = "sasweb.worker.Worker"
worker_connections = descriptors.MOST_CONNECTIONS
graceful_timeout = 5  # seconds that running requests have to finish at a stop
keepalive = 2  # seconds that a connection stays open without a request
accesslog = None
forwarded_allow_ips = ""  # `sasweb.proxies` decides whose headers are believed
control_socket_disable = True  # it would be one file in the home folder, shared by all of a user's servers


def on_starting(server: Any) -> None:
    """Has each worker open as many files as it may, and says so if these are too few."""
    shortage = descriptors.describe_shortage(descriptors.raise_limit())
    if shortage:
        server.log.warning(shortage)


def post_fork(_server: Any, worker: Any) -> None:
    """Ends a worker together with its master: otherwise it would serve on for seconds, unwatched."""
    set_death_signal(signal.SIGKILL, parent=worker.ppid)


def post_worker_init(_worker: Any) -> None:
    """Limits gunicorn's own log lines, which do not go through Django's logging, and has the worker look at the rest of
    the system, now that Django is set up. What is in memory by now stays, so it is not looked at for garbage."""
    garbage.spare_what_stays()
    logging.getLogger("gunicorn.error").addFilter(logs.Limit())
    import_string("orders.watchdog.watch.start")()
