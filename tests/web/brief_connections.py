"""gunicorn's settings with short times, for tests. They are separate, so the product needs no setting for them."""

from sasweb.web_server import *  # noqa: F403
from sasweb.worker import Worker


class BriefWorker(Worker):
    """Does not wait for its clients."""

    head_timeout = 2.0
    read_timeout = 1.0


worker_class = "tests.web.brief_connections.BriefWorker"
