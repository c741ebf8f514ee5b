"""The browser of the tests and of the screenshots: Debian's Chromium, or the one that `CHROMIUM` names."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

EXECUTABLE = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
# Nothing that contacts anybody or asks the user. Root cannot run Chromium in its sandbox.
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
    """Starts the browser without a window."""
    return playwright.chromium.launch(executable_path=EXECUTABLE, args=FLAGS)
