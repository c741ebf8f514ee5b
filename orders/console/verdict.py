"""Is it all right? What is wrong, the worst first; with nothing wrong, how the console knows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.overview import Overview
from orders.selectors.desk.standing import Kind
from orders.selectors.desk.supervisor import SupervisorStatus
from orders.vocabulary import CircuitState, ProcessState
from orders.wording.agents import down_sentence, draining_sentence, hold_sentence
from orders.wording.units import bounded, duration

PATIENCE = 60.0
"""Seconds that a submission, or an order for a scheduler, may wait before it is worth a word."""


@dataclass(frozen=True, kw_only=True)
class Concern:
    """One thing that is not as it should be. `tone` is bad or warn."""

    tone: str
    said: str
    url: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`tone` is that of the worst concern, or good."""

    tone: str
    concerns: Sequence[Concern]


def verdict(
    numbers: Overview, agents: Sequence[AgentStatus], watch: SupervisorStatus, open_alerts: int
) -> Verdict:
    """What is wrong, the bad before the merely noteworthy."""
    found = [*_of_supervisor(watch), *_of_agents(agents), *_of_orders(numbers, open_alerts)]
    found.sort(key=lambda concern: concern.tone != "bad")
    return Verdict(tone=found[0].tone if found else "good", concerns=found)


def _of_supervisor(watch: SupervisorStatus) -> Iterator[Concern]:
    url = reverse("console:supervisor")
    if watch.swept_seconds is None:
        yield Concern(tone="bad", url=url, said=_("The supervisor has never swept."))
    elif watch.late:
        said = _("The last sweep of the supervisor was %(ago)s ago.") % {"ago": duration(watch.swept_seconds)}
        yield Concern(tone="bad", url=url, said=said)


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
        url = f"{reverse('console:agents')}#{agent.name}"
        yield Concern(tone="bad" if is_bad else "warn", url=url, said=sentence)


def _of_orders(numbers: Overview, open_alerts: int) -> Iterator[Concern]:
    if open_alerts:
        said = ngettext("%(n)s alert is open.", "%(n)s alerts are open.", open_alerts)
        yield Concern(
            tone="bad", url=reverse("console:alerts"), said=said % {"n": bounded(open_alerts, MOST_COUNTED)}
        )
    if numbers.set_aside:
        said = ngettext(
            "%(n)s submission is set aside.", "%(n)s submissions are set aside.", numbers.set_aside
        )
        yield Concern(
            tone="warn",
            url=reverse("console:set-aside"),
            said=said % {"n": bounded(numbers.set_aside, MOST_COUNTED)},
        )
    if numbers.oldest_queued is not None and numbers.oldest_queued > PATIENCE:
        said = _(
            "The oldest submission has been in the queue for %(age)s. Is the submission process running?"
        )
        url = reverse("console:orders")
        yield Concern(tone="bad", url=url, said=said % {"age": duration(numbers.oldest_queued)})
    if numbers.oldest_ready is not None and numbers.oldest_ready > PATIENCE:
        said = _("An order has waited for a scheduler for %(age)s. Is the scheduler process running?")
        query = urlencode({"state": ProcessState.PENDING.value, "kind": Kind.SCHEDULER.value})
        url = f"{reverse('console:orders')}?{query}"
        yield Concern(tone="warn", url=url, said=said % {"age": duration(numbers.oldest_ready)})
