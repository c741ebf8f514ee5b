#!/usr/bin/env python
"""Django's command line for sasweb."""

import os
import sys
from pathlib import Path

from sasweb.launcher import shared_settings


def main() -> None:
    if sys.argv[1:2] != ["up"]:  # a launcher that follows another has its own settings
        shared_settings.adopt(os.environ, default_folder=Path(__file__).resolve().parent / "var")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
