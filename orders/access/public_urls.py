"""The urls by which people reach our pages from outside."""

from django.conf import settings
from django.urls import reverse


def public_url(name: str, *arguments: object) -> str:
    """The url of a page, under `PUBLIC_URL`.

    No part of it comes from the request: an email goes to somebody who may not have asked for it, and a search engine
    keeps what it reads.
    """
    return str(settings.CONFIG.public_url) + reverse(name, args=arguments)
