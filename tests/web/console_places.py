"""The console's URLs, with the database rows they are about."""

from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from orders.console import urls
from orders.engine.alerts import NewAlert, open_alerts
from orders.models import AlertGroup, ApprovalRequest, BulkAction, Circuit, OutgoingMessage, SavedView
from tests.support.factories import make_order

PUBLIC = {"sign-in"}
"""The names of the URLs that need no access level."""


def make_places() -> dict[str, str]:
    """Every URL of the console except the sign-in page, by name, with the rows they are about."""
    order = make_order({"mix": "failed"}, process_state="error")
    open_alerts([NewAlert(order.order_id, "step_failed", "refused", "no flour", "mix", "kitchen")])
    Circuit.objects.create(agent="kitchen")
    action = BulkAction.objects.create(
        kind="resubmit", selection="one order", by="olga", starts_at="2030-01-01T00:00Z", waves=[1], total=1
    )
    message = OutgoingMessage.objects.create(
        kind="sign_up", state="failed", give_up_at="2030-01-01T00:00Z", ended_at="2030-01-01T00:00Z"
    )
    approval = ApprovalRequest.objects.create(
        act="force_circuit",
        target="agent kitchen",
        summary="Force the circuit",
        parameters={"agent": "kitchen", "state": "open", "seconds": 300},
        reason="it misbehaves",
        asked_by="otto",
        expires_at="2030-01-01T00:00Z",
    )
    view = SavedView.objects.create(
        owner=User.objects.get_or_create(username="vera")[0],
        name="late",
        query="promise:late",
        is_shared=True,
    )
    about: dict[str, Any] = {
        "message_id": message.pk,
        "order_id": order.order_id,
        "group_id": AlertGroup.objects.get().pk,
        "action_id": action.pk,
        "agent": "kitchen",
        "step": "mix",
        "workflow": "bake-cake",
        "act": "pause",
        "number": 1,
        "service": "mail",
        "role": "jobs",
        "name": "carrier-down",
        "token_id": 1,
        "request_id": approval.pk,
        "view_id": view.pk,
    }
    places = {}
    for pattern in urls.urlpatterns:
        if pattern.name not in PUBLIC:
            arguments = {name: about[name] for name in pattern.pattern.converters}
            places[str(pattern.name)] = reverse(f"console:{pattern.name}", kwargs=arguments)
    return places
