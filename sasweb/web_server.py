"""gunicorn's settings: `python -m gunicorn -c python:sasweb.web_server sasweb.asgi:application`."""

import gc
import logging
import os
import signal
from typing import Any

from django.utils.module_loading import import_string

from sasweb import descriptors, logs
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


YOUNG_OBJECTS = 10_000
"""Objects after which Python looks for unreachable ones, in place of 700: it looks at all of them after a hundred times
as many. Thousands of held requests are hundreds of thousands of objects, and nobody is answered meanwhile."""


def post_worker_init(_worker: Any) -> None:
    """Limits gunicorn's own log lines, which do not go through Django's logging, and has the worker look at the rest of
    the system, now that Django is set up. What is in memory by now stays, so it is not looked at for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
    logging.getLogger("gunicorn.error").addFilter(logs.Limit())
    import_string("orders.watchdog.watch.start")()
