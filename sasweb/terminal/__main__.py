"""`bin/sasweb`, or `python -m sasweb.terminal`."""

import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from sasweb.terminal.arguments import make_parser, make_server
from sasweb.terminal.errors import INTERRUPTED, NO_ANSWER, RefusedError, TerminalError
from sasweb.terminal.output import OutputError, note, show


def main(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs the command, and returns its exit status."""
    arguments = make_parser().parse_args(argv)
    arguments.argv = argv
    try:
        status: int = arguments.run(make_server(arguments, environment), arguments)
        return status
    except TerminalError as error:
        note(str(error))
        if isinstance(error, RefusedError) and error.body and getattr(arguments, "json", False):
            show(error.body)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED


def _start() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return main(sys.argv[1:], os.environ)
    except BrokenPipeError:  # whoever read this has gone, as `head` does
        _discard_output()
        return INTERRUPTED
    except OutputError as error:
        _discard_output()
        note(str(error))
        return NO_ANSWER


def _discard_output() -> None:
    """What could not be written would be tried again at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(_start())
