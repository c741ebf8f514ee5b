"""`manage.py supervisor`: who leads, when it last swept, and what is overdue. Fit for a monitoring check."""

from typing import Any

from orders.management.operator import DONE, REFUSED, ReadingCommand, now
from orders.selectors.desk.health import LATE, SupervisorHealth, supervisor
from orders.wording.units import counted, duration


class Command(ReadingCommand):
    help = f"Shows how the supervisor is. Exit code 1 when the last sweep is older than {LATE:.0f} s."

    def work(self, options: dict[str, Any]) -> int:
        health = supervisor(now=now())
        if options["json"]:
            self.show_json({**vars(health), "late": health.late})
        else:
            for label, value in _lines(health):
                self.stdout.write(f"{label:<12}{value}")
        return REFUSED if health.late else DONE


def _lines(health: SupervisorHealth) -> list[tuple[str, str]]:
    found = health.last_sweep
    swept = "never"
    if health.swept_seconds is not None:
        swept = (
            f"{duration(health.swept_seconds)} ago: {found.get('found', 0)} found,"
            f" {found.get('recovered', 0)} recovered, {found.get('escalated', 0)} escalated"
        )
    overdue = "nothing"
    if health.overdue_orders:
        overdue = f"{counted(health.overdue_orders, 'order')}, {counted(health.overdue_steps, 'step')}"
        overdue += f"; the oldest by {duration(health.oldest_seconds or 0)}"
    lines = [
        ("leader", _leader(health)),
        ("term", f"{health.term}"),
        ("last sweep", swept),
        ("overdue", overdue),
    ]
    if health.late:
        lines.append(("LATE", f"no sweep for more than {LATE:.0f} s: overdue steps are not being recovered"))
    return lines


def _leader(health: SupervisorHealth) -> str:
    if health.leader is not None:
        return f"{health.leader}, lease for another {duration(health.lease_seconds or 0)}"
    if health.lease_seconds is not None:
        return f"nobody; the last lease lapsed {duration(-health.lease_seconds)} ago"
    return "nobody"
