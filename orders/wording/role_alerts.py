"""What operators can do about an alert that is about a role, a release or an agent's queue, and not about orders."""

from orders.vocabulary import AlertKind


def advise(kind: str, code: str) -> str:
    """What to do, as the end of a sentence that begins with "to do"."""
    if code in ("workflow_changed", "workflow_missing"):
        todo = "run a release that has this version of the workflow as its orders started with it"
    elif kind == AlertKind.RELEASE:
        todo = "fix what the release or the database lacks"
    elif kind == AlertKind.LATE:
        todo = "see on the page Deadlines which orders these are, and what can still be done"
    elif code == "slow":
        todo = "find out what slows the database down: its disk, a long transaction, a missing index"
    elif code == "no_sweep":
        todo = "start the jobs process (manage.py run_jobs), or read its log if it runs"
    elif code == "no_process":
        todo = "start a process of this role (manage.py run_ROLE)"
    elif code == "not_taken":
        todo = "find the session that holds the lock, and end it: docs/operations.md, Who watches the watcher"
    elif code == "undelivered":
        todo = "correct EMAIL_URL, ALERT_EMAIL or ALERT_WEBHOOK_URL, or bring the mail server or the webhook back"
    elif kind not in list(AlertKind):
        todo = "look at it with the newest release that runs here, which knows this kind of alert"
    else:
        todo = "read the log of this role"
    return f"{todo}; there is nothing to resubmit, because the orders wait, then continue automatically"
