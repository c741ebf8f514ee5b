"""`manage.py supervisor`: who leads, when it last swept, and what is overdue. Suitable as a monitoring check."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from orders.management.operator_command import DONE, REFUSED, ReadingCommand
from orders.selectors.database_clock import now
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.supervisor import LATE, SupervisorStatus, supervisor_status
from orders.wording.units import counted, duration


class Command(ReadingCommand):
    help = (
        "Show the supervisor's leader, its last sweep and what is overdue."
        f" Exit code 1 if the last sweep is older than {LATE:.0f} s."
    )

    def work(self, options: dict[str, Any]) -> int:
        status = supervisor_status(now=now())
        if options["json"]:
            self.show_json(_plain(status))
        else:
            for label, value in _lines(status):
                self.stdout.write(f"{label:<12}{value}")
        return REFUSED if status.late else DONE


def _lines(status: SupervisorStatus) -> Iterator[tuple[str, str]]:
    yield "leader", _leader(status)
    yield "term", f"{status.term}"
    yield "last sweep", _last_sweep(status)
    yield "overdue", _overdue(status)
    if status.late:
        yield "LATE", f"no sweep for more than {LATE:.0f} s: overdue steps are not being recovered"


def _leader(status: SupervisorStatus) -> str:
    if status.leader is not None:
        return f"{status.leader}, lease for another {duration(status.lease_seconds or 0)}"
    if status.lease_seconds is not None:
        return f"nobody; the last lease lapsed {duration(-status.lease_seconds)} ago"
    return "nobody"


def _last_sweep(status: SupervisorStatus) -> str:
    if status.swept_seconds is None:
        return "never"
    last = status.last
    return (
        f"{duration(status.swept_seconds)} ago: {last.found} found, {last.recovered} recovered,"
        f" {last.escalated} escalated"
    )


def _overdue(status: SupervisorStatus) -> str:
    if not status.overdue_orders:
        return "nothing"
    orders = counted(status.overdue_orders, "order", most=MOST_COUNTED)
    steps = counted(status.overdue_steps, "step", most=MOST_COUNTED)
    return f"{orders}, {steps}; the longest by {duration(status.lag or 0)}"


def _plain(status: SupervisorStatus) -> dict[str, Any]:
    """The output for scripts: everything but the list of sweeps."""
    shown = {name: value for name, value in vars(status).items() if name not in ("sweeps", "last", "hour")}
    return shown | {"last_sweep": asdict(status.last), "last_hour": asdict(status.hour), "late": status.late}
