"""Runs a process manager with the specs that its argument describes: python -m tests.launcher.managed JSON.

`KILL_AFTER` in the environment is how many seconds it leaves its children to stop, and `NEXT_IN_ORDER` how many it
waits for one before it asks the next.
"""

import json
import os
import sys

from sasweb.launcher import processes
from sasweb.launcher.log_lines import Output
from sasweb.launcher.processes import ProcessManager, Spec


def main() -> None:
    processes.KILL_AFTER = float(os.environ.get("KILL_AFTER", processes.KILL_AFTER))
    processes.NEXT_IN_ORDER = float(os.environ.get("NEXT_IN_ORDER", processes.NEXT_IN_ORDER))
    output = Output(sys.stdout.fileno())
    with ProcessManager(output) as manager:
        for described in json.loads(sys.argv[1]):
            manager.start(Spec(**described))
        output.plain("all started")
        manager.run()


main()
