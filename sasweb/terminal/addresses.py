"""The urls that people give to `bin/sasweb`."""

import re
from argparse import ArgumentTypeError
from urllib.parse import urlsplit

OF_A_PORT = re.compile("[0-9]+(/.*)?", re.DOTALL)
PORT = "expected a port from 1 to 65535"


def read_url(text: str) -> str:
    """A url in the form in which it is called. One without a scheme is of this machine, as in `localhost:4242/hook`, or
    `4242/hook` for short. Raises `ArgumentTypeError`, which says what is wrong and never repeats the url: it may have a
    password."""
    url = f"localhost:{text}" if OF_A_PORT.fullmatch(text) else text
    url = url if "://" in url else f"http://{url}"
    if not re.fullmatch("[!-~]+", url):
        raise ArgumentTypeError("expected a url without spaces, in ASCII")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ArgumentTypeError("expected a host, such as shop.example or [::1]") from error
    if parts.scheme not in ("http", "https"):
        raise ArgumentTypeError("expected a url that begins with http:// or https://")
    if "@" in parts.netloc:
        raise ArgumentTypeError("expected a url without a user or a password")
    if not parts.hostname:
        raise ArgumentTypeError("expected a host after http:// or https://")
    try:
        port = parts.port
    except ValueError as error:
        raise ArgumentTypeError(PORT) from error
    if port == 0:
        raise ArgumentTypeError(PORT)
    return url
