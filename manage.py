#!/usr/bin/env python
"""Django's command line for sasweb."""

import os
import sys
from pathlib import Path

INTERRUPTED = 130
"""The exit status after Ctrl-C, as in a shell."""


def main() -> None:
    # Imports take most of a second, so Ctrl-C may come in the middle of one.
    from sasweb.launcher import shared_settings

    if sys.argv[1:2] != ["up"]:  # a launcher that follows another has its own settings
        shared_settings.adopt(os.environ, default_folder=Path(__file__).resolve().parent / "var")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
