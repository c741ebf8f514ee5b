"""Runs a process manager with the specs that its argument describes: python -m tests.launcher.managed JSON."""

import json
import sys

from sasweb.launcher.log_lines import Output
from sasweb.launcher.processes import ProcessManager, Spec


def main() -> None:
    output = Output(sys.stdout.fileno())
    with ProcessManager(output) as manager:
        for described in json.loads(sys.argv[1]):
            manager.start(Spec(**described))
        output.plain("all started")
        manager.run()


main()
