"""The mail server of EMAIL_URL, in the forms in which Django takes it."""

from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend

BACKEND = "django.core.mail.backends.smtp.EmailBackend"
TIMEOUT = 5.0
"""Seconds that a mail server may take."""


def server(url: str) -> dict[str, Any]:
    """The server that a URL of the schemes smtp and smtps names, as arguments of Django's mail backend."""
    parts = urlsplit(url)
    return {
        "host": parts.hostname,
        "port": parts.port or (465 if parts.scheme == "smtps" else 25),
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_ssl": parts.scheme == "smtps",
        "timeout": TIMEOUT,
    }


def connect(url: str) -> BaseEmailBackend:
    """A connection to the mail server of a URL; it is opened when it is entered or first used."""
    connection: BaseEmailBackend = get_connection(BACKEND, **server(url))
    return connection


def settings(url: str) -> dict[str, Any]:
    """The same server as Django's settings, for whatever sends mail through them."""
    given = server(url)
    return {
        "EMAIL_BACKEND": BACKEND,
        "EMAIL_HOST": given["host"],
        "EMAIL_PORT": given["port"],
        "EMAIL_HOST_USER": given["username"],
        "EMAIL_HOST_PASSWORD": given["password"],
        "EMAIL_USE_SSL": given["use_ssl"],
        "EMAIL_TIMEOUT": given["timeout"],
    }
