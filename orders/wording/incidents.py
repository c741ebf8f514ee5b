"""What is wrong now, in sentences: a card for each incident, with what the system does and what an operator can do.

For the overview and the API. Pure.
"""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.utils.text import capfirst

from orders.business import Advice
from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.alert_groups import OpenAlerts
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.incidents import ORDER, AtRisk, Incident, IncidentKind
from orders.vocabulary import AlertKind, CircuitState
from orders.wording.agents import limits_in_words
from orders.wording.alert_words import pattern_text, quoted
from orders.wording.events import LONGEST_QUOTE
from orders.wording.health import Concern, HealthSummary
from orders.wording.incident_cards import Card, CardLink, impact_in_words
from orders.wording.pause_cards import PAUSES, pause_card
from orders.wording.runbooks import OF_A_ROLE, advice_of, find_runbook
from orders.wording.units import counted, duration, number


def cards(incidents: Sequence[Incident], health: HealthSummary, *, now: datetime) -> list[Card]:
    """A card for each incident, and for each concern about a queue that no incident is about."""
    pages = {"orders"} if any(_is_set_aside(incident) for incident in incidents) else {"orders", "set-aside"}
    queues = [_of_concern(concern) for concern in health.concerns if concern.page in pages]
    shown = [*(_card(incident, now) for incident in incidents), *queues]
    return sorted(shown, key=lambda card: ORDER.index(card.kind))


def _whose(alerts: OpenAlerts) -> str:
    """Who owns a cause and who has acknowledged it; nothing if nobody does."""
    owner = [f"Owned by {alerts.group.owner_name}."] if alerts.group.owner else []
    seen = [f"Acknowledged by {alerts.acknowledged_by}."] if alerts.acknowledged else []
    return " ".join(owner + seen)


def _is_set_aside(incident: Incident) -> bool:
    return incident.alerts is not None and incident.alerts.group.kind == AlertKind.SET_ASIDE


def _card(incident: Incident, now: datetime) -> Card:
    if incident.kind in PAUSES:
        return pause_card(incident)
    if incident.supervisor is not None:
        return _of_supervisor(incident, now)
    if incident.kind is IncidentKind.LATE and incident.alerts is not None:
        return _of_deadlines(incident, incident.alerts)
    if incident.agent is not None:
        return _of_agent(incident, incident.agent, now)
    if incident.alerts is None:
        return _of_decisions(incident)
    if _is_set_aside(incident):
        return _of_set_aside(incident, incident.alerts)
    if incident.alerts.has_orders:
        return _of_orders(incident, incident.alerts)
    return _of_system(incident, incident.alerts)


def _of_supervisor(incident: Incident, now: datetime) -> Card:
    swept = incident.since
    title = (
        f"The supervisor last swept {duration((now - swept).total_seconds())} ago."
        if swept
        else "The supervisor has never swept."
    )
    return Card(
        kind=incident.kind,
        tone="bad",
        title=title,
        since=swept,
        why="The jobs process is not running, or hangs.",
        impact="Orders that get stuck are not found, and their alerts are not sent.",
        by_itself="Orders that are not stuck continue. Another supervisor takes over as soon as one runs.",
        links=[CardLink(label="Open the supervisor", page="supervisor")],
    )


def _of_deadlines(incident: Incident, alerts: OpenAlerts) -> Card:
    if incident.is_held:
        return _of_held_deadlines(incident, alerts)
    # The alert is closed by the next look at the queue, which may have emptied since the last, into Error too.
    waits = incident.agent is None or incident.agent.waiting or incident.agent.requests
    return Card(
        kind=incident.kind,
        tone="warn",
        title=f"Orders waiting for {alerts.group.agent} will be late at its current pace."
        if waits
        else f"Orders that waited for {alerts.group.agent} were going to be late. None waits for it now.",
        since=incident.since,
        why=_limits(incident.agent),
        impact=impact_in_words(incident.at_risk) if waits else "",
        by_itself="If nothing else goes wrong, they will be done, but late."
        if waits
        else "The next check closes this.",
        links=[CardLink(label="See which and when", page="deadlines"), _group_link(alerts)],
        at_risk=incident.at_risk,
    )


def _of_held_deadlines(incident: Incident, alerts: OpenAlerts) -> Card:
    return Card(
        kind=incident.kind,
        tone="warn",
        title=f"Orders for {alerts.group.agent} will be late, because their step is paused.",
        since=incident.since,
        why="",
        impact="",
        by_itself="They wait until an operator resumes the step.",
        links=[CardLink(label="Open the pauses", page="pauses", place="#steps"), _group_link(alerts)],
    )


def _limits(agent: AgentStatus | None) -> str:
    limits = limits_in_words(agent.circuit.set_rate, agent.circuit.set_capacity) if agent else ""
    return f"An operator has limited it to {limits}." if limits else ""


def _of_system(incident: Incident, alerts: OpenAlerts) -> Card:
    group = alerts.group
    runbook = find_runbook(kind=group.kind, code=group.code, agent=group.agent) or OF_A_ROLE
    is_outage = group.kind == AlertKind.OUTAGE
    return Card(
        kind=incident.kind,
        tone="bad",
        title=_sentence(pattern_text(group.pattern)),
        since=incident.since,
        why="" if is_outage else f"What to do: {runbook.todo}",
        impact="",
        by_itself=f"Orders that wait for {group.agent} continue by themselves."
        if is_outage
        else runbook.does,
        links=[_group_link(alerts)],
    )


def _of_agent(incident: Incident, agent: AgentStatus, now: datetime) -> Card:
    return Card(
        kind=incident.kind,
        tone="warn"
        if agent.circuit.paused or agent.is_draining or agent.state == CircuitState.HALF_OPEN
        else "bad",
        title=_agent_title(agent, now),
        since=incident.since,
        why=f"{_agent_why(agent)} {_alerts_of(incident)}".strip(),
        impact=impact_in_words(incident.at_risk),
        by_itself=_agent_by_itself(agent, incident.at_risk),
        links=_agent_links(agent, incident.alerts),
        at_risk=incident.at_risk,
    )


def _alerts_of(incident: Incident) -> str:
    """That the card stands for several of the alerts that the navigation counts; empty if it does not."""
    count = incident.alert_count
    return f"{number(count)} alerts are open about it." if count > 1 else ""


def _agent_links(agent: AgentStatus, alerts: OpenAlerts | None) -> list[CardLink]:
    links = [CardLink(label=f"Open {agent.name}", page="agents", place=f"#{agent.name}")]
    if agent.waiting:
        place = f"?{urlencode({'waiting': agent.name})}"
        links.append(CardLink(label="Show the waiting orders", page="orders", place=place))
        links.append(CardLink(label="See which will be late", page="deadlines"))
    return links if alerts is None else [*links, _group_link(alerts)]


def _agent_why(agent: AgentStatus) -> str:
    if agent.is_down:
        return ""
    if agent.circuit.paused or agent.is_forced:
        return f"Reason: {agent.held_reason.rstrip('.')}." if agent.held_reason else ""
    cause = agent.circuit.cause_message
    return _sentence(cause) if cause and agent.state != CircuitState.CLOSED else ""


def _agent_title(agent: AgentStatus, now: datetime) -> str:
    name = capfirst(agent.name)
    if agent.is_down:
        return f"No process runs the agent {agent.name}."
    if agent.circuit.paused:
        return f"{name} was paused by {agent.held_by or 'an operator'}."
    if agent.is_forced and agent.circuit.forced_until:
        until = f"{agent.circuit.forced_until:%H:%M} UTC"
        return f"{name} is sent nothing: {agent.held_by or 'an operator'} has forced that until {until}."
    if agent.is_draining:
        return f"{name} is back, at {agent.ramp_percent}% of its usual load."
    opened, cause = agent.circuit.opened_at, agent.circuit.cause_code.replace("_", " ")
    lasted = f" for {duration((now - opened).total_seconds())}" if opened else ""
    state = (
        "is being tried again, after it was down"
        if agent.state == CircuitState.HALF_OPEN
        else "has been down"
    )
    return f"{name} {state}{lasted}{f' ({cause})' if cause else ''}."


def _agent_by_itself(agent: AgentStatus, risk: AtRisk) -> str:
    if not risk.orders:
        return "No order waits for it."
    orders, verb = _waiting(agent, risk), "waits" if risk.orders == 1 else "wait"
    if agent.is_down:
        return f"{orders} {verb} until a process runs it (manage.py run_agents)."
    if agent.circuit.paused or agent.is_forced:
        return f"{orders} {verb} until an operator lets it continue."
    them = "itself" if risk.orders == 1 else "themselves"
    return f"{orders} {verb} and will continue by {them}."


def _of_orders(incident: Incident, alerts: OpenAlerts) -> Card:
    group, count = alerts.group, alerts.open
    orders = counted(count, "order")
    where = f" at {group.agent}" if group.agent else ""
    is_cancellation = incident.kind is IncidentKind.CANCELLATION
    what = f"{counted(count, 'cancellation')} failed{where}" if is_cancellation else f"{orders} failed{where}"
    links = [*_resubmit_links(alerts, orders), _group_link(alerts)]
    if is_cancellation:
        links.append(CardLink(label="Open the cancellations", page="compensation"))
    return Card(
        kind=incident.kind,
        tone="bad",
        title=f"{what}: {quoted(group.kind, pattern_text(group.pattern)[:LONGEST_QUOTE])}",
        since=incident.since,
        why=_whose(alerts),
        impact=impact_in_words(incident.at_risk),
        by_itself="Nothing more is tried until an operator acts on them."
        if count > 1
        else "Nothing more is tried until an operator acts on it.",
        links=links,
        at_risk=incident.at_risk,
    )


def _resubmit_links(alerts: OpenAlerts, orders: str) -> list[CardLink]:
    """The way to resubmit the orders of a cause; none if something else is advised, which the page of the cause has."""
    group = alerts.group
    runbook = find_runbook(kind=group.kind, code=group.code, agent=group.agent)
    if advice_of(runbook, step="") != Advice.RESUBMIT:
        return []
    place = urlencode({"group": group.pk, "upto": alerts.newest})
    return [CardLink(label=f"Resubmit {orders}…", page="bulk-new", place=f"?{place}")]


def _of_set_aside(incident: Incident, alerts: OpenAlerts) -> Card:
    submissions, verb = counted(alerts.open, "submission"), "was" if alerts.open == 1 else "were"
    return Card(
        kind=incident.kind,
        tone="warn",
        title=f"{submissions} {verb} set aside: {pattern_text(alerts.group.pattern)}"[:200],
        since=incident.since,
        why=_cannot_become_orders(alerts.open),
        impact="",
        by_itself=_stay_set_aside(alerts.open),
        links=[CardLink(label=f"Show {submissions}", page="set-aside"), _group_link(alerts)],
    )


def _cannot_become_orders(count: int) -> str:
    return "It cannot become an order as it is." if count == 1 else "They cannot become orders as they are."


def _stay_set_aside(count: int) -> str:
    subject = "It stays" if count == 1 else "They stay"
    return f"{subject} set aside until an operator replays {'it' if count == 1 else 'them'}."


def _of_decisions(incident: Incident) -> Card:
    count = incident.at_risk.orders
    what = "A decision is" if count == 1 else f"{number(count)} decisions are"
    return Card(
        kind=incident.kind,
        tone="warn",
        title=f"{what} past {'its' if count == 1 else 'their'} deadline.",
        since=incident.since,
        why="Nobody has decided.",
        impact=impact_in_words(incident.at_risk),
        by_itself="At its next sweep, the supervisor takes the default. Without a default, the step fails.",
        links=[CardLink(label="Open the decisions", page="decisions")],
        at_risk=incident.at_risk,
    )


def _of_concern(concern: Concern) -> Card:
    is_set_aside = concern.page == "set-aside"
    return Card(
        kind=IncidentKind.FAILED if is_set_aside else IncidentKind.OURS,
        tone=concern.tone,
        title=concern.sentence,
        since=None,
        why=_cannot_become_orders(concern.count) if is_set_aside else "",
        impact="",
        by_itself=_stay_set_aside(concern.count)
        if is_set_aside
        else "What waits continues by itself as soon as a process takes it.",
        links=[
            CardLink(
                label=f"Show the {'submissions' if is_set_aside else 'orders'}",
                page=concern.page,
                place=concern.place,
            )
        ],
    )


def _group_link(alerts: OpenAlerts) -> CardLink:
    return CardLink(label="Open the cause", page="group", group=alerts.group.pk)


def _waiting(agent: AgentStatus, risk: AtRisk) -> str:
    """What waits for an agent: "4 orders"; "4 orders (21 steps)" where the pages beside it say 21, because they count
    steps; "10,000+ steps" where there are too many to tell whose they are."""
    steps = counted(agent.waiting, "step", most=MOST_COUNTED)
    if risk.more:
        return steps
    orders = counted(risk.orders, "order")
    return orders if agent.waiting == risk.orders else f"{orders} ({steps})"


def _sentence(text: str) -> str:
    return f"{capfirst(text).rstrip('.')}."
