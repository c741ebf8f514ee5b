"""The web application with few threads, for tests."""

import os

from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
os.environ.setdefault("DATABASE_POOL", "1")
settings.WEB_THREADS = 4

from sasweb.asgi import application  # noqa: E402 - it makes its threads when it is imported

__all__ = ("application",)
