"""What operators read about the codes of roles, releases and outages, which are about no single order."""

from collections.abc import Mapping

from orders.business.runbooks import Runbook

CONTINUES = "Orders wait, lose nothing, and continue by themselves as soon as it works again."
WAIT_WITHOUT_LOSS = "Orders wait and none is set aside. " + "They continue by themselves once it is fixed."

ROLES: Mapping[str, Runbook] = {
    "no_host": Runbook(
        means="No process runs this agent, and orders need it.",
        does=CONTINUES,
        todo="Start one with manage.py run_agents, or find out why it ended.",
    ),
    "paused": Runbook(
        means="Somebody has paused the agent, and orders wait for it.",
        does="They wait, without counting as failures, until the agent is resumed.",
        todo="See on the page Agents who paused it and why, and resume it when that is over.",
    ),
    "quarantined": Runbook(
        means="One agent host fails calls that succeed on the other hosts.",
        does="It takes no new requests; the other hosts do its work. It is tried again from time to time.",
        todo="Look at that machine’s network, certificates and settings, or stop the host.",
    ),
    "no_progress": Runbook(
        means="A process of this role has completed nothing for more than a minute.",
        does="Other processes of the role go on. This one reports itself until it works again.",
        todo="Read its log. If it has met no error, it hangs: restart it, which is safe.",
    ),
    "slow": Runbook(
        means="A role gets nothing done because the database is too slow.",
        does="It tries smaller and smaller batches. " + CONTINUES,
        todo="Find out what slows the database down: its disk, a long transaction, a missing index.",
    ),
    "slow_order": Runbook(
        means="One order takes longer than a transaction may last.",
        does="It is tried again from time to time, and the other orders go on.",
        todo="Look at the order’s size and history, and at what else keeps the database busy.",
    ),
    "no_sweep": Runbook(
        means="The supervisor has not looked for overdue orders for too long.",
        does="Orders that need no recovery go on. Overdue ones wait until it sweeps again.",
        todo="Start the jobs process (manage.py run_jobs), or read its log if it runs.",
    ),
    "no_process": Runbook(
        means="No process of this role has reported, and work waits for it.",
        does=CONTINUES,
        todo="Start a process of this role (manage.py run_ROLE), or find out why it ended.",
    ),
    "not_taken": Runbook(
        means="The first message of a queue is not taken, although processes of its role run.",
        does="What can be taken is taken. The rest waits and is not lost.",
        todo="Find the session that holds the lock and end it: docs/operations.md, Who watches the watcher.",
    ),
    "undelivered": Runbook(
        means="Alerts could not be delivered to people.",
        does="They are tried again for three days, and the console shows them in any case.",
        todo="Correct EMAIL_URL, ALERT_EMAIL or ALERT_WEBHOOK_URL, or bring the mail server or the webhook back.",
    ),
    "deadlines": Runbook(
        means="Orders that wait for this agent will miss the time promised, or wait for longer than their steps may.",
        does="They stay in the queue, and go on when their turn comes. The alert ends when the queue is fast enough.",
        todo="See on the page Deadlines which orders these are. Raise the priority of those that matter most, find out "
        "what slows the agent down, or tell the customers.",
    ),
    "disk_nearly_full": Runbook(
        means="The disk of this folder is nearly full. Under bin/up, it is also the database’s disk.",
        does="Orders go on until the disk is full. Then nothing is written, so nothing goes on, but nothing is lost.",
        todo="Make room or enlarge the disk: docs/operations.md, When a disk fills up.",
    ),
    "database_nearly_full": Runbook(
        means="The database has nearly grown to DATABASE_ROOM.",
        does="Orders go on until its disk is full. Then it takes no writes, so nothing goes on, but nothing is lost.",
        todo="Enlarge its disk and DATABASE_ROOM, or keep less: docs/operations.md, When a disk fills up.",
    ),
    "part_failed": Runbook(
        means="A part of retention fails, so old records stay. Orders are not affected.",
        does="It goes on with the other parts, and tries this one again.",
        todo="Read the error. It usually names a missing permission or a full disk.",
    ),
    "workflow_changed": Runbook(
        means="A workflow is no longer what its orders started with, under the same version.",
        does=WAIT_WITHOUT_LOSS,
        todo="Run the release that has the workflow as it was, or release the change as a new version.",
    ),
    "workflow_missing": Runbook(
        means="Orders are on a version of a workflow that this release does not have.",
        does=WAIT_WITHOUT_LOSS,
        todo="Run a release that has this version beside the newer one.",
    ),
    "unknown_workflow": Runbook(
        means="Submissions name a workflow that this release does not have.",
        does="They wait in the queue.",
        todo="Run submission of the release that has it, or set the submissions aside.",
    ),
    "kind_failing": Runbook(
        means="The program of one kind of order fails at different submissions.",
        does="Its submissions wait in the queue, and one is tried again every so often. Other kinds go on.",
        todo="Read the error, and fix that kind’s code, or go back to the last release.",
    ),
}
"""The texts by code."""
