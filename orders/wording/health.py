"""Whether the system is healthy, for the overview and the API: what is wrong, the worst first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.overview import Overview
from orders.selectors.desk.standing import StandingKind
from orders.selectors.desk.supervisor import SupervisorStatus
from orders.vocabulary import CircuitState, ProcessState
from orders.wording.agents import down_sentence, draining_sentence, hold_sentence
from orders.wording.pauses import ACCEPTED_AGAIN, until_in_words
from orders.wording.units import counted, duration

PAGES = ("supervisor", "agents", "alerts", "set-aside", "orders", "pauses")
"""The console's pages that show what may be wrong."""
PATIENCE = 60.0
"""Seconds that a submission, or an order for a scheduler, may wait before it is a concern."""


@dataclass(frozen=True, kw_only=True)
class Concern:
    """One thing that is wrong. `tone` is bad or warn, `page` one of `PAGES`, and `place` the end of the page's url.
    `count` is how many of what the sentence names are concerned."""

    tone: str
    sentence: str
    page: str
    place: str = ""
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class HealthSummary:
    """What is wrong. `tone` is that of the worst concern, or good."""

    tone: str
    concerns: Sequence[Concern]


def summarise(
    numbers: Overview, agents: Sequence[AgentStatus], watch: SupervisorStatus, open_alerts: int
) -> HealthSummary:
    """Lists what is wrong: failures before warnings."""
    concerns = [
        *_of_intake(numbers),
        *_of_supervisor(watch),
        *_of_agents(agents),
        *_of_orders(numbers, open_alerts),
        *_of_pauses(numbers),
    ]
    concerns.sort(key=lambda concern: concern.tone != "bad")
    return HealthSummary(tone=concerns[0].tone if concerns else "good", concerns=concerns)


def _of_intake(numbers: Overview) -> Iterator[Concern]:
    if (pause := numbers.intake_pause) is not None:
        ends = until_in_words(pause.until, otherwise=ACCEPTED_AGAIN)
        sentence = f"New orders are refused {ends}: {pause.by} has paused them."
        yield Concern(tone="bad", page="pauses", sentence=sentence)


def _of_pauses(numbers: Overview) -> Iterator[Concern]:
    for step in numbers.paused_steps:
        waiting = counted(step.orders, "order", most=MOST_COUNTED)
        verb = "waits" if step.orders == 1 else "wait"
        sentence = f"The step {step.step} of {step.workflow} is paused; {waiting} {verb} there."
        yield Concern(tone="warn", page="pauses", place="#steps", sentence=sentence, count=step.orders)
    if count := numbers.paused_orders:
        orders = counted(count, "order", most=MOST_COUNTED)
        sentence = f"{orders} {'is' if count == 1 else 'are'} paused."
        yield Concern(tone="warn", page="pauses", sentence=sentence, count=count)


def _of_supervisor(watch: SupervisorStatus) -> Iterator[Concern]:
    if watch.swept_seconds is None:
        yield Concern(tone="bad", page="supervisor", sentence="The supervisor has never swept.")
    elif watch.late:
        sentence = f"The supervisor last swept {duration(watch.swept_seconds)} ago."
        yield Concern(tone="bad", page="supervisor", sentence=sentence)


def _of_agents(agents: Sequence[AgentStatus]) -> Iterator[Concern]:
    for agent in agents:
        if agent.is_down:
            sentence = down_sentence(agent)
        elif agent.circuit.paused or agent.state != CircuitState.CLOSED:
            sentence = hold_sentence(agent)
        elif agent.is_draining and agent.waiting:
            sentence = draining_sentence(agent)
        else:
            continue
        is_bad = (agent.is_down or agent.state == CircuitState.OPEN) and not agent.circuit.paused
        tone = "bad" if is_bad else "warn"
        yield Concern(tone=tone, page="agents", place=f"#{agent.name}", sentence=sentence)


def _of_orders(numbers: Overview, open_alerts: int) -> Iterator[Concern]:
    if open_alerts:
        alerts = counted(open_alerts, "alert", most=MOST_COUNTED)
        sentence = f"{alerts} {'is' if open_alerts == 1 else 'are'} open."
        yield Concern(tone="bad", page="alerts", sentence=sentence)
    if numbers.set_aside:
        submissions = counted(numbers.set_aside, "submission", most=MOST_COUNTED)
        sentence = f"{submissions} {'is' if numbers.set_aside == 1 else 'are'} set aside."
        yield Concern(tone="warn", page="set-aside", sentence=sentence, count=numbers.set_aside)
    if numbers.oldest_queued is not None and numbers.oldest_queued > PATIENCE:
        age = duration(numbers.oldest_queued)
        sentence = (
            f"The oldest submission has been in the queue for {age}. Is the submission process running?"
        )
        yield Concern(tone="bad", page="orders", sentence=sentence)
    if numbers.oldest_ready is not None and numbers.oldest_ready > PATIENCE:
        age = duration(numbers.oldest_ready)
        sentence = f"An order has been waiting for a scheduler for {age}. Is the scheduler process running?"
        query = urlencode({"state": ProcessState.PENDING.value, "kind": StandingKind.SCHEDULER.value})
        yield Concern(tone="warn", page="orders", place=f"?{query}", sentence=sentence)
