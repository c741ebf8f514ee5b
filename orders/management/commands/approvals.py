"""`manage.py approvals`: lists what waits for approval, and approves, declines or withdraws it."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from orders.access.levels import ADMINISTER, OPERATE
from orders.management.operator_command import DONE, EXIT_CODES, ReadingCommand, Stop, actor
from orders.selectors.database_clock import now
from orders.selectors.desk.approvals import ApprovalRow, approval_page
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals
from orders.vocabulary import ApprovalState

SHOWN = 100
"""The most requests that it lists."""
ACTS = ("list", "approve", "decline", "withdraw")
LEVELS: Mapping[str, tuple[str, str]] = {
    "approve": (ADMINISTER, "an admin"),
    "decline": (ADMINISTER, "an admin"),
    "withdraw": (OPERATE, "an operator"),
}
"""What the account must be permitted, and what it then is."""


class Command(ReadingCommand):
    help = (
        "List the acts that wait for an admin's approval, or approve, decline or withdraw one. Approving carries the"
        " act out at once, in the name of the account of --by, which must be an admin's and not that of who asked."
        " Exit codes: 0 done, 1 refused or no longer possible, 2 wrong use or no such request, 3 it was done before."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("do", nargs="?", choices=ACTS, default="list", help="what to do; by default list")
        parser.add_argument("number", nargs="?", type=int, help="the number of the request")
        parser.add_argument("--by", type=actor, help="the console account that answers")
        parser.add_argument("--note", default="", help="why, when it is declined or withdrawn")
        parser.add_argument("--all", action="store_true", help="list those that have been answered, too")

    def work(self, options: dict[str, Any]) -> int:
        if options["do"] == "list":
            return self._list(options)
        if options["number"] is None or not options["by"]:
            raise Stop(f"{options['do']} needs the number of a request and --by")
        return self._answer(options["do"], options["number"], self._account(options), options["note"])

    def _list(self, options: dict[str, Any]) -> int:
        state = "" if options["all"] else ApprovalState.WAITING
        page = approval_page(state=state, now=now(), limit=SHOWN)
        if options["json"]:
            self.show_json(page.items)
            return DONE
        for row in page.items:
            self.stdout.write(_line(row))
        if not page.items:
            self.stdout.write(
                "nobody has asked for anything" if options["all"] else "nothing waits for approval"
            )
        return DONE

    def _account(self, options: dict[str, Any]) -> Actor:
        """The account that answers. Raises `Stop` if there is none, or it may not."""
        permission, level = LEVELS[options["do"]]
        account = User.objects.filter(username=options["by"], is_active=True).first()
        if account is None or not account.has_perm(permission):
            raise Stop(f"{options['by']} is not the account of {level}, so it cannot {options['do']} this")
        return Actor(name=account.get_username())

    def _answer(self, act: str, number: int, account: Actor, note: str) -> int:
        try:
            if act == "approve":
                return self._show(approvals.approve(request_id=number, actor=account))
            answer = approvals.decline if act == "decline" else approvals.withdraw
            return self._show(answer(request_id=number, actor=account, note=note))
        except approvals.NoSuchApprovalError as error:
            raise Stop(str(error)) from error

    def _show(self, result: Result) -> int:
        (self.stderr if result.status is ResultStatus.REFUSED else self.stdout).write(result.message)
        return EXIT_CODES[result.status]


def _line(row: ApprovalRow) -> str:
    """A request in a line or two, with what an answer needs to know."""
    answer = f" by {row.decided_by}" if row.decided_by else ""
    reason = f": {row.reason}" if row.reason else ""
    return (
        f"{row.id}  {row.state}{answer}  {row.summary}  ({row.target})\n"
        f"    asked for by {row.asked_by} at {row.asked_at:%d %b %H:%M} UTC{reason}"
    )
