"""gunicorn's settings with few connections, for tests. They are separate, so the product needs no setting for them."""

from sasweb.web_server import *  # noqa: F403

worker_connections = 8
