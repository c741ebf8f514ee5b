"""`manage.py verify_audit [--since HEAD]`: whether the audit log is what was written to it. Suitable for cron."""

import re
from typing import Any

from django.core.management.base import CommandParser

from orders.management.operator_command import DONE, REFUSED, OperatorCommand, Stop
from orders.selectors.desk import audit_chain
from orders.selectors.desk.audit_chain import Head
from orders.wording.units import counted


class Command(OperatorCommand):
    help = (
        "Verify the audit log: nothing in it was changed, deleted or slipped in. Exit code 1 names the first entry that"
        " does not fit. Give a later run with --since the head that this one prints: then it also notices when the"
        " end of the log was cut off, or the whole log rewritten."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--since", default=None, metavar="HEAD", help="a head that an earlier run has printed"
        )

    def work(self, options: dict[str, Any]) -> int:
        since = None if options["since"] is None else _read_head(options["since"])
        head = audit_chain.read_head()
        if since and not audit_chain.has_link(since):
            return self._refuse(f"its head {since} is gone, so the end was cut off or all of it rewritten")
        if misfit := audit_chain.find_misfit(head):
            return self._refuse(f"{misfit}, and is the first that does not fit")
        self.stdout.write(
            f"The audit log is intact: {counted(audit_chain.count_entries(head), 'entry', 'entries')},"
            f" {counted(audit_chain.count_amended(), 'entry', 'entries')} changed by erasures."
        )
        self.stdout.write(f"head {head}")
        if audit_chain.may_unprotect():
            self.stdout.write(
                "Note: the database role of DATABASE_URL owns the log, so it could remove what protects it"
                " (docs/operations.md, Two database roles)."
            )
        return DONE

    def _refuse(self, problem: str) -> int:
        self.stderr.write(f"The audit log was tampered with: {problem}.")
        return REFUSED


def _read_head(text: str) -> Head:
    match = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})?", text)
    if not match or bool(match[2]) != (match[1] != "0"):
        raise Stop(f"{text!r} is not a head of the audit log; expected what this command prints after `head`")
    return Head(position=int(match[1]), hash=match[2] or "")
