"""Lost replies of remote services that recognise no idempotency keys: effects done twice, and steps left to a person.

    .venv/bin/python -m bench lost_replies [--lost N] [--rate R]

The services perform every call, and cut the connection after a share of them. The agents ask what has become of such a
call before they repeat it. Orders are placed until at least `--lost` replies have been lost.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from bench import server, tables
from orders.models import Event
from tests.support.system import SERVICES, System

BATCH = 500
"""Orders placed at once, at most."""
SECONDS = 900.0
"""The most that the orders of a batch may take to end."""


def count(kind: str, **detail: str) -> int:
    """The number of events of a kind in which the detail has these values."""
    fields = {f"detail__{name}": value for name, value in detail.items()}
    return Event.objects.filter(kind=kind, **fields).count()


def measure(lost: int, rate: float) -> None:
    """Places orders, waits for their end and prints what has become of them."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        system = System(Path(folder), forks=False, KEY_RETENTION="0", STEP_COMPLETE_BY="30")
        try:
            for service in SERVICES:
                system.faults(service, keyless=True, lost_reply_rate=rate)
            system.start_all()
            while count("call_failed", code="connection_lost") < lost:
                system.place(min(BATCH, lost))
                system.wait_until_ended(seconds=SECONDS)
            states = Counter(system.states())
            effects = Counter(effect["key"] for service in SERVICES for effect in system.ledger(service))
        finally:
            system.end()
    failed, ended = states["error"], sum(states.values())
    tables.print_table(
        ("services without keys", ""),
        [
            ("orders", f"{ended:,}"),
            ("calls that had their effect", f"{sum(effects.values()):,}"),
            ("replies lost", f"{count('call_failed', code='connection_lost'):,}"),
            ("found to be done by asking", f"{count('inquired', finding='done'):,}"),
            ("effects done twice", f"{sum(number - 1 for number in effects.values()):,}"),
            ("orders left to a person", f"{failed:,} ({failed / ended:.2%})"),
        ],
    )


def main() -> None:
    """Reads the command line and measures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench lost_replies", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--lost", type=int, default=10_000, help="replies to lose")
    parser.add_argument("--rate", type=float, default=0.2, help="the share of replies that are lost")
    options = parser.parse_args()
    server.empty()
    measure(options.lost, options.rate)


if __name__ == "__main__":
    main()
