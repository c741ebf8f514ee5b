"""Incidents that operators have made themselves: what they have paused, in words. Pure."""

from urllib.parse import urlencode

from orders.selectors.desk.incidents import Incident, IncidentKind
from orders.wording.incident_cards import Card, CardLink, impact_in_words
from orders.wording.pauses import ends_in_words
from orders.wording.units import counted, number

PAUSES = (IncidentKind.INTAKE, IncidentKind.PAUSED)
"""The kinds of incidents that this module words."""


def pause_card(incident: Incident) -> Card:
    """The card of an incident of one of `PAUSES`."""
    if incident.intake is not None:
        return _of_intake(incident)
    return _of_orders(incident) if incident.step_pause is None else _of_step(incident)


def _of_intake(incident: Incident) -> Card:
    pause = incident.intake
    assert pause is not None
    return Card(
        kind=incident.kind,
        tone="bad",
        title=f"New orders are refused: {pause.by} has paused them.",
        since=incident.since,
        why=f"Reason: {pause.reason.rstrip('.')}.",
        impact="",
        by_itself=f"Orders that were accepted continue. {ends_in_words(pause.until)}",
        links=[CardLink(label="See the pause", page="pauses")],
    )


def _of_step(incident: Incident) -> Card:
    pause, risk = incident.step_pause, incident.at_risk
    assert pause is not None
    waiting = f"{counted(risk.orders, 'order')}{' or more' if risk.more else ''}"
    wait = "waits" if risk.orders == 1 and not risk.more else "wait"
    orders = [CardLink(label="Show the waiting orders", page="orders", place=_orders_at(pause.step))]
    return Card(
        kind=incident.kind,
        tone="warn",
        title=f"The step {pause.step} of {pause.workflow} is paused, by {pause.by}.",
        since=incident.since,
        why=f"Reason: {pause.reason.rstrip('.')}.",
        impact=impact_in_words(risk),
        by_itself=f"{waiting if risk.orders else 'No order'} {wait if risk.orders else 'waits'} there. "
        f"{ends_in_words(pause.until)}",
        links=[
            CardLink(label="See the pause", page="pauses", place="#steps"),
            *(orders if risk.orders else []),
        ],
        at_risk=risk,
    )


def _orders_at(step: str) -> str:
    return f"?{urlencode({'q': f'paused:{step}'})}"


def _of_orders(incident: Incident) -> Card:
    count = incident.at_risk.orders
    return Card(
        kind=incident.kind,
        tone="warn",
        title="An operator has paused an order."
        if count == 1
        else f"Operators have paused {number(count)} orders.",
        since=incident.since,
        why="Who did it, and why, is on the page of each order.",
        impact=impact_in_words(incident.at_risk),
        by_itself="No step of it begins until somebody resumes it, or until its pause ends."
        if count == 1
        else "No step of them begins until somebody resumes them, or until their pauses end.",
        links=[
            CardLink(
                label="Show the paused order" if count == 1 else "Show the paused orders",
                page="orders",
                place=f"?{urlencode({'q': 'paused:yes'})}",
            )
        ],
        at_risk=incident.at_risk,
    )
