"""Runs a role with crash points armed: SAS_FAIL=point:mode[:n] python -m tests.support.armed ROLE

The role runs in a child of this process. When the child dies, another takes its place, armed with the shots that have
not been fired yet; once all have been fired, it runs unarmed. So one process goes through any number of deaths without
starting Python anew for each. Each fired shot becomes a line in the file that SAS_FIRED names.
"""

import functools
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import django

from sasweb.launcher.children import set_death_signal

COMMANDS = {"submission": "run_submission", "scheduler": "run_scheduler", "agents": "run_agents"}


def main(role: str) -> int:
    """Keeps one child running the role until one exits with status 0."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
    django.setup()
    report = Path(os.environ["SAS_FIRED"])
    parent = os.getpid()
    while True:
        child = os.fork()
        if not child:
            set_death_signal(signal.SIGKILL, parent=parent)
            try:
                live(role, report)
            except BaseException:  # noqa: BLE001 - the child must not go on as its own parent
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return 0
        time.sleep(0.1)


def live(role: str, report: Path) -> None:
    """Runs one life of the role, in a process of its own."""
    from django.core.management import call_command  # noqa: PLC0415 - these need Django to be set up

    from orders import jobs, wiring  # noqa: PLC0415
    from tests.support import crash  # noqa: PLC0415

    fired = report.read_text().splitlines() if report.exists() else []
    remaining = [shot for shot in crash.parse(os.environ.get("SAS_FAIL", "")) if str(shot) not in fired]
    assert all(shot.role == role for shot in remaining), f"not points of {role}: {remaining}"
    wiring.HostConfig = functools.partial(wiring.HostConfig, lease=crash.LEASE)  # type: ignore[misc, assignment]
    wiring.SupervisorConfig = functools.partial(wiring.SupervisorConfig, lease=crash.LEASE)  # type: ignore[misc, assignment]
    crash.arm(role, remaining, report=report)
    if role == "supervisor":
        while True:  # brief shifts, so that the lead is taken and given up repeatedly
            jobs.supervisor_shift(3.0)
    elif role == "shop":
        place_orders()
    else:
        call_command(COMMANDS[role])


def place_orders() -> None:
    """Places an order for each key, retrying as needed, and writes down which orders were acknowledged.

    A customer who gets no answer sends the same order again with the same key.
    """
    from django.db import connection  # noqa: PLC0415

    from orders.shop import placing  # noqa: PLC0415
    from tests.support.factories import new_order  # noqa: PLC0415

    parameters = json.loads(os.environ["SAS_ORDERS"])
    order = new_order(parameters["sku"])
    acknowledged = {}
    for key in parameters["keys"]:
        while key not in acknowledged:
            try:
                placed = placing.place_order(client="guest", order=order, idempotency_key=key)
                acknowledged[key] = str(placed.order_id)
            except Exception as error:  # noqa: BLE001 - whatever the error, the customer sends the order again
                print(f"sent again: {error}", flush=True)
                connection.close()
    ready = Path(parameters["acknowledged"] + ".part")
    ready.write_text(json.dumps(acknowledged))
    ready.rename(parameters["acknowledged"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
