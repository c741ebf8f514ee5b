"""`manage.py processes`: the processes of each role, and what waits for them. Suitable as a monitoring check."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from orders.management.operator_command import DONE, REFUSED, ReadingCommand
from orders.management.tables import Column, Fit, table
from orders.selectors.database_clock import now
from orders.selectors.desk.processes import WEB, read_roles
from orders.wording.processes import ShownRole, held_by, release_sentences, show_roles
from orders.wording.units import duration


class Command(ReadingCommand):
    help = (
        "Show the processes of each role, with their heartbeats and what they hold, and what waits for the role."
        " Exit code 1 if a role other than the web has no live process."
    )

    def work(self, options: dict[str, Any]) -> int:
        statuses = read_roles(now=now())
        roles = show_roles(statuses)
        if options["json"]:
            self.show_json([_plain(role) for role in roles])
        else:
            self.stdout.write(self._processes(roles))
            self.stdout.write("")
            for role in roles:
                for sentence in role.backlogs:
                    self.stdout.write(f"{role.status.name:<12}{sentence}")
            for sentence in release_sentences(statuses):
                self.stdout.write(self.styled(f"! {sentence}", "yellow"))
            for role in roles:
                for sentence in role.concerns:
                    style = "bold red" if role.tone == "bad" else "yellow"
                    self.stdout.write(self.styled(f"! {role.status.name}: {sentence}", style))
        is_missing = any(role.status.is_missing for role in roles if role.status.name != WEB)
        return REFUSED if is_missing else DONE

    def _processes(self, roles: Sequence[ShownRole]) -> str:
        columns = (
            Column("ROLE"),
            Column("PROCESS", fit=Fit.CUT, least=24),
            Column("HEARTBEAT"),
            Column("RELEASE", fit=Fit.CUT, least=8),
            Column("HOLDS", fit=Fit.WRAP, least=16),
            Column("RUNS", fit=Fit.WRAP, least=16),
        )
        rows = [
            (
                role.status.name,
                process.name,
                f"{duration(process.seen_seconds)} ago{'' if process.alive else ', SILENT'}",
                process.release or None,
                held_by(process) or None,
                ", ".join(process.agents or process.workflows) or None,
            )
            for role in roles
            for process in role.status.processes
        ]
        return (
            table(columns, rows, width=self.width, coloured=self.is_coloured)
            if rows
            else "no process has reported"
        )


def _plain(role: ShownRole) -> dict[str, Any]:
    """A role for scripts."""
    processes = [
        asdict(process) | {"alive": process.alive, "workflows": process.workflows}
        for process in role.status.processes
    ]
    return {
        "role": role.status.name,
        "is_missing": role.status.is_missing,
        "concerns": role.concerns,
        "backlogs": [asdict(backlog) for backlog in role.status.backlogs],
        "processes": processes,
    }
