"""The web application with four threads, for tests. It says at /held how many requests it holds."""

import os

from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
os.environ.setdefault("DATABASE_POOL", "1")
settings.WEB_THREADS = 4

from tests.web.counted_waits import application  # noqa: E402 - which makes the threads

__all__ = ("application",)
