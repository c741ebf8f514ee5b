"""Incidents that operators have made themselves: what they have paused, in words. Pure."""

from urllib.parse import urlencode

from orders.selectors.desk.incidents import Incident, IncidentKind
from orders.wording.incident_cards import Card, CardLink, impact_in_words
from orders.wording.pauses import ends_in_words
from orders.wording.units import number

PAUSES = (IncidentKind.INTAKE, IncidentKind.PAUSED)
"""The kinds of incidents that this module words."""


def pause_card(incident: Incident) -> Card:
    """The card of an incident of one of `PAUSES`."""
    return _of_orders(incident) if incident.intake is None else _of_intake(incident)


def _of_intake(incident: Incident) -> Card:
    pause = incident.intake
    assert pause is not None
    return Card(
        kind=incident.kind,
        tone="bad",
        title=f"New orders are refused: {pause.by} has paused them.",
        since=incident.since,
        why=f"The reason given is: {pause.reason.rstrip('.')}.",
        impact="",
        by_itself=f"Orders that were accepted continue. {ends_in_words(pause.until)}",
        links=[CardLink(label="See the pause", page="pauses")],
    )


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
