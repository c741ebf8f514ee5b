"""gunicorn's settings with a long time for running requests at a stop, for tests: who stops sooner has not used it."""

from sasweb.web_server import *  # noqa: F403

graceful_timeout = 600
