"""What the API sends to operators about incidents."""

from typing import Any

from rest_framework import serializers

from orders.api.representations import Out
from orders.selectors.desk.incidents import IncidentKind
from orders.wording.incident_cards import PLACES, Card


class SumAtRiskOut(Out):
    """A sum in minor units of its currency."""

    amount = serializers.IntegerField()
    currency = serializers.CharField()


class IncidentLinkOut(Out):
    """What an operator can do, as `text`, on this `page` of the console, about an alert `group` if it is about one."""

    text = serializers.CharField(source="label")
    page = serializers.ChoiceField(choices=PLACES)
    group = serializers.IntegerField(allow_null=True)


class IncidentOut(Out):
    """One thing that is wrong: `title`, `why`, its `impact`, and what the system does `by_itself`, as sentences.

    `ours` is of the system itself, `cancellation` of orders that could not be cancelled, `outage` of a service,
    `failed` of orders that failed alike, and `decision` of decisions past their time. `orders` wait for it or are in
    Error, with `money` at risk, and `promises` to customers whose time has come or comes within an hour. With
    `has_more`, those are only of the first orders.
    """

    kind = serializers.ChoiceField(choices=list(IncidentKind))
    severity = serializers.ChoiceField(choices=["warn", "bad"])
    title = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)
    why = serializers.CharField(allow_blank=True)
    impact = serializers.CharField(allow_blank=True)
    by_itself = serializers.CharField(allow_blank=True)
    orders = serializers.IntegerField()
    money = SumAtRiskOut(many=True)
    promises = serializers.IntegerField()
    has_more = serializers.BooleanField()
    links = IncidentLinkOut(many=True)


class IncidentListOut(Out):
    """What was wrong at this time. Without results, nothing is."""

    at = serializers.DateTimeField()
    results = IncidentOut(many=True)


def card_json(card: Card) -> dict[str, Any]:
    """A card, as `IncidentOut` says it."""
    risk = card.at_risk
    return {
        "kind": card.kind.value,
        "severity": card.tone,
        "title": card.title,
        "since": card.since,
        "why": card.why,
        "impact": card.impact,
        "by_itself": card.by_itself,
        "orders": risk.orders,
        "money": [
            {"amount": amount, "currency": currency} for currency, amount in sorted(risk.money.items())
        ],
        "promises": risk.promises,
        "has_more": risk.more,
        "links": card.links,
    }
