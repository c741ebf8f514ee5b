"""gunicorn's settings: `python -m gunicorn -c python:sasweb.web_server sasweb.asgi:application`."""

import os
import signal
from typing import Any

from sasweb.config import read
from sasweb.launcher.children import set_death_signal

bind = read().bind
workers = int(os.environ.get("WEB_CONCURRENCY", "1"))
worker_class = "asgi"
graceful_timeout = 5  # seconds that requests in hand get at a stop
accesslog = None
control_socket_disable = True  # one file in the home folder, for all servers of a user


def post_fork(_server: Any, worker: Any) -> None:
    """A worker whose master was killed would serve on for seconds, with nobody to watch it."""
    set_death_signal(signal.SIGKILL, parent=worker.ppid)
