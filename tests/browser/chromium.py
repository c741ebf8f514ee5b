"""The browser of the tests and of the pictures: Debian's chromium, which `CHROMIUM` may name another of."""

import os

from playwright.sync_api import Browser, Playwright

EXECUTABLE = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# Nothing that asks anybody anything. Root has no sandbox to put it in.
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]


def launch(playwright: Playwright) -> Browser:
    """Starts it, without a window."""
    return playwright.chromium.launch(executable_path=EXECUTABLE, args=FLAGS)
