"""The accounts behind the names that the engine knows clients by: `user:5` is olga's account."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from django.contrib.auth.models import User

from orders.fields.numbers import read_whole_number
from orders.selectors.desk.history import EventFacts

PREFIX = "user:"


def account_names(clients: Collection[str]) -> dict[str, str]:
    """The names of the accounts that some of these clients are. One query, or none."""
    ids = {
        number: client
        for client in clients
        if client.startswith(PREFIX) and (number := read_whole_number(client.removeprefix(PREFIX)))
    }
    if not ids:
        return {}
    names = User.objects.filter(pk__in=ids).values_list("pk", "username")
    return {ids[number]: name for number, name in names}


def naming_accounts(events: Sequence[EventFacts]) -> list[EventFacts]:
    """These events, each with the name of the account that it came from. One query, or none."""
    names = account_names({str(event.detail["by"]) for event in events if event.detail.get("by")})
    return [
        replace(event, detail={**event.detail, "by": name})
        if (name := names.get(str(event.detail.get("by"))))
        else event
        for event in events
    ]
