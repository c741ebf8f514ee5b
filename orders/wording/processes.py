"""What the page, the API and the command say of a role and its processes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.processes import (
    WEB,
    Backlog,
    BacklogName,
    Process,
    Release,
    RoleStatus,
    releases_of,
)
from orders.selectors.desk.queues import MOST_QUEUED
from orders.vocabulary import ActorKind
from orders.wording.units import counted, duration

WORK = {
    WEB: "Serves pages and the API, and watches the other processes.",
    ActorKind.SUBMISSION.value: "Takes submissions from the queue and inserts the orders.",
    ActorKind.SCHEDULER.value: "Takes orders from step to step.",
    ActorKind.AGENTS.value: "Calls the remote services.",
    ActorKind.SUPERVISOR.value: "Finds what is overdue. It works in shifts: the next one takes over about every "
    "minute, so one that has just started is as it should be.",
}
_MISSING = {
    WEB: "No web process reports that it watches the others: it has just started, or WATCHDOG is off.",
    ActorKind.SUBMISSION.value: "No submission process is running: new orders stay in the queue. "
    "Start manage.py run_submission.",
    ActorKind.SCHEDULER.value: "No scheduler is running: orders do not move on. Start manage.py run_scheduler.",
    ActorKind.AGENTS.value: "No agent host is running: no remote service is called. Start manage.py run_agents.",
    ActorKind.SUPERVISOR.value: "No supervisor is running: what is overdue is not found. Start manage.py run_jobs.",
}
_NOUNS = {
    BacklogName.SUBMISSIONS: ("No submission waits", "submission waits", "submissions wait"),
    BacklogName.ORDERS: ("No order waits to go on", "order waits to go on", "orders wait to go on"),
    BacklogName.REPLIES: ("No reply waits", "reply waits", "replies wait"),
    BacklogName.REQUESTS: ("No request waits", "request waits", "requests wait"),
    BacklogName.OVERDUE: ("No order is overdue", "order is overdue", "orders are overdue"),
}
"""What is said of none, of one and of several."""


@dataclass(frozen=True, kw_only=True)
class ShownRole:
    """A role in words. `tone` is good, warn or bad, and `concerns` are what is wrong, a sentence each."""

    status: RoleStatus
    work: str
    tone: str
    concerns: Sequence[str]
    backlogs: Sequence[str]


def show_roles(roles: Sequence[RoleStatus]) -> list[ShownRole]:
    """Every role in words."""
    return [
        ShownRole(
            status=role,
            work=WORK.get(role.name, ""),
            tone=tone_of(role),
            concerns=list(concerns_of(role)),
            backlogs=[backlog_sentence(backlog) for backlog in role.backlogs],
        )
        for role in roles
    ]


def tone_of(role: RoleStatus) -> str:
    """Bad if nobody does the role's work, warn if something else is wrong with it, good otherwise."""
    if role.is_missing:
        return "warn" if role.name == WEB else "bad"
    return "warn" if any(True for _ in concerns_of(role)) else "good"


def concerns_of(role: RoleStatus) -> Iterator[str]:
    """What is wrong with a role, a sentence each, the worst first."""
    if role.is_missing:
        seen = role.heartbeat_seconds
        last = "" if seen is None else f" The last one was heard from {duration(seen)} ago."
        yield _MISSING.get(role.name, f"No process of the role {role.name} is running.") + last
    elif role.silent:
        number = len(role.silent)
        verb, own = ("has", "it hangs or was") if number == 1 else ("have", "they hang or were")
        processes = counted(number, "process", "processes")
        yield f"{processes} {verb} sent no heartbeat for more than 15 s: {own} killed. The others do the work."
    troubled = sum(bool(process.troubles) for process in role.alive)
    if troubled:
        processes = counted(troubled, "process", "processes")
        yield f"{processes} {'reports' if troubled == 1 else 'report'} that something is wrong: see Alerts."
    if role.has_two_versions:
        yield "Its processes run different versions of workflows: an upgrade is under way, or has stopped halfway."


def release_sentences(roles: Sequence[RoleStatus]) -> list[str]:
    """What is said while processes run different releases, a sentence for each old one: "2 of 5 processes still run
    0.9.1: agents (1), scheduler (1). The newest is 0.9.2." """
    releases = releases_of(roles)
    total = sum(release.number for release in releases)
    return [_still_running(old, releases[0].name, total) for old in releases[1:]]


def release_name(release: str) -> str:
    """What people call a release."""
    return release or "a release from before releases were recorded"


def _still_running(old: Release, newest: str, total: int) -> str:
    verb = "runs" if old.number == 1 else "run"
    roles = ", ".join(f"{role} ({number})" for role, number in sorted(old.processes.items()))
    return (
        f"{old.number} of {total} processes still {verb} {release_name(old.name)}: {roles}. "
        f"The newest is {release_name(newest)}."
    )


def backlog_sentence(backlog: Backlog) -> str:
    """What waits for a role: "3 submissions wait, the oldest for 12 s"."""
    nothing, singular, plural = _NOUNS[backlog.name]
    if not backlog.depth:
        return nothing
    most = MOST_COUNTED if backlog.name is BacklogName.OVERDUE else MOST_QUEUED
    sentence = counted(backlog.depth, singular, plural, most=most)
    if backlog.oldest_seconds is None:
        return sentence
    word = "longest" if backlog.name is BacklogName.OVERDUE else "oldest"
    return f"{sentence}, the {word} for {duration(backlog.oldest_seconds)}"


def held_by(process: Process) -> str:
    """What a process has in hand: "3 orders", "12 of 200 calls under way"; empty if it holds nothing."""
    parts = []
    if process.orders:
        parts.append(counted(process.orders, "order", most=MOST_COUNTED))
    if process.requests:
        parts.append(counted(process.requests, "request"))
    if process.capacity:
        parts.append(f"{process.in_flight} of {counted(process.capacity, 'call')} under way")
    if process.leads:
        parts.append("the supervisor’s lease")
    return ", ".join(parts)
