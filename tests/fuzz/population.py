"""Orders of a client in every state and place, and what operators have to do with them."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from uuid_utils.compat import uuid7

from examples.lab.workflows import AnalyseSample
from orders.business import Environment
from orders.engine.alerts import NewAlert, open_alerts, open_outage
from orders.engine.callbacks import issue_token
from orders.engine.channels import submissions
from orders.models import (
    AlertGroup,
    ApprovalRequest,
    BulkAction,
    Circuit,
    OrderProcess,
    OutgoingMessage,
    SavedView,
    SetAside,
    StatusMessage,
    StepState,
)
from orders.selectors.orders import client_of
from orders.selectors.response_queues import queue_of
from orders.services import placing
from orders.services.audit import Actor, record
from orders.services.request_log import Line, RequestLog
from orders.shop.models import Product
from orders.shop.placing import as_order
from orders.vocabulary import MessageState, StatusKind
from tests.support.client_webhooks import make_deliveries, make_endpoint
from tests.support.factories import ago, ahead, make_order, make_purchase, new_order
from tests.support.finished_orders import archive, finished_order
from tests.web.helpers import run_submission

(LAB,) = AnalyseSample.versions(Environment())
QUEUE = "shop.1"
SKUS = ["tidal-lines", *(f"poster-{number}" for number in range(99))]
"""As many products as an order may have lines, and the one of the document's example."""
REVIEW = {"kind": "decision", "choices": ["accept", "reject"]}
LATER = {"state": "awaiting", "outcome": "unknown", "awaits": {"kind": "answer", "reference": "job-7"}}


def populate(client: User) -> Mapping[str, list[Any]]:
    """Makes them, and returns the values that the parameters of paths may have, each with the part before it."""
    Product.objects.bulk_create(
        Product(sku=sku, title=sku.capitalize(), artist="Maren Oost", price=3900) for sku in SKUS
    )
    orders = [*_placed(client), *_under_way(client), *_in_error(client), _archived(client)]
    called = _called(client)
    _set_up_agents()
    queue = queue_of(client.pk, QUEUE)
    for kind in StatusKind:
        StatusMessage.objects.create(queue=queue, order_id=orders[0], kind=kind, body={})
    webhook = make_endpoint(client, "https://receiver.invalid/")
    return {
        "orders/{order_id}": [*map(str, orders), str(called.pk)],
        "steps/{step}": ["review", "book-spectrometer"],
        "steps/{step_id}": list(StepState.objects.values_list("pk", flat=True)),
        "groups/{group_id}": list(AlertGroup.objects.values_list("pk", flat=True)),
        "response-queues/{name}": [QUEUE],
        "set-aside/{number}": list(SetAside.objects.values_list("pk", flat=True)),
        "messages/{message_id}": list(StatusMessage.objects.values_list("pk", flat=True)),
        "agents/{name}": ["payments", "instruments"],
        "views/{view_id}": [_view(client), _view(client)],
        "workflows/{workflow}": ["fulfil-order", LAB.name],
        "approvals/{request_id}": [_asked(), _asked()],
        "bulk-actions/{action_id}": [_bulk_action(orders[-2:]), 2],
        "outbox/{message_id}": _outgoing_messages(),
        "products/{sku}": SKUS[:3],
        "webhooks/{webhook_id}": [str(webhook.pk)],
        "deliveries/{delivery_id}": make_deliveries(webhook, orders[0], 3),
        "requests/{request_id}": _logged(client, orders),
        "callbacks/{token}": [issue_token(f"{called.pk}/spectrometry/1")],
    }


def _view(client: User) -> int:
    number = SavedView.objects.count()
    return SavedView.objects.create(owner=client, name=f"view {number}", query="state:error").pk


def _placed(client: User) -> list[Any]:
    """Orders that are inserted and not begun, that the submission set aside, and that nobody has read."""
    ids = []
    for number in range(4):
        order = as_order(new_order(SKUS[number], email="ada@example.com"))
        ids.append(placing.place_order(client=client_of(client.pk), order=order).order_id)
        if number == 1:
            ids.append(uuid7())
            submissions.post(order_id=ids[-1], client=client_of(client.pk), body={})
            run_submission()
    return ids


def _under_way(client: User) -> list[Any]:
    """An order in each state, and one that waits for a decision."""
    ids = []
    steps: Mapping[str, Mapping[str, Any]] = {
        "pending": {},
        "processing": {"book-spectrometer": "completed", "book-microscope": "running"},
        "processed": dict.fromkeys((step.name for step in LAB.steps), "completed"),
        "compensated": {"book-spectrometer": "compensated"},
    }
    for state, states in steps.items():
        goal = "compensate" if state == "compensated" else "complete"
        ids.append(_order(client, states, process_state=state, goal=goal))
    for number in range(3):
        review = {"state": "awaiting", "awaits": REVIEW}
        ids.append(_order(client, {"review": review}, not_before=ahead(9_000), subject=f"table {number}"))
    return ids


def _in_error(client: User) -> list[Any]:
    """Orders in Error with their alerts."""
    ids = [
        _order(client, {"book-spectrometer": "failed"}, process_state="error", failure_count=1)
        for _ in range(3)
    ]
    for number, order_id in enumerate(ids):
        alert = NewAlert(
            order_id, "step_failed", "refused", f"no lamp {number}", "book-spectrometer", "instruments"
        )
        open_alerts([alert])
    open_outage("payments", code="connection", message="it does not answer")
    return ids


def _order(client: User, steps: Mapping[str, Any], *, subject: str = "", **process: Any) -> Any:
    order = make_order(steps, workflow=LAB, **process)
    make_purchase(order.pk, customer=client, title="a sample", subject=subject)
    return order.pk


def _archived(client: User) -> Any:
    order_id = finished_order(purchase={"customer": client})
    archive(order_id)
    return order_id


def _called(client: User) -> OrderProcess:
    """An order of which a remote service answers a call later."""
    until = {"awaits_until": ahead(9_000), "complete_by": ahead(9_000), "sent_at": ago(9)}
    order = make_order({"spectrometry": LATER | until}, workflow=LAB, not_before=ahead(9_000))
    make_purchase(order.pk, customer=client)
    return order


def _asked() -> int:
    """A request for approval by somebody else."""
    return ApprovalRequest.objects.create(
        act="unforce_circuit",
        target="agent payments",
        parameters={"agent": "payments"},
        digest=uuid7().hex,
        asked_by="otto",
        expires_at=ahead(9_000),
    ).pk


def _bulk_action(order_ids: list[Any]) -> int:
    """A bulk action that can be undone, with its orders."""
    action = BulkAction.objects.create(
        kind="resubmit", selection="some", by="otto", total=len(order_ids), waves=[1], starts_at=ahead(9_000)
    )
    for position, order_id in enumerate(order_ids):
        action.items.create(position=position, order_id=order_id)
    return action.pk


def _outgoing_messages() -> list[int]:
    """An email in each state, and an entry of the audit log about each."""
    ids = []
    for state in MessageState:
        time = "due_at" if state in (MessageState.QUEUED, MessageState.SENDING) else "ended_at"
        fields: dict[str, Any] = {"kind": "order_link", "recipient": "ada@example.com", "state": state}
        message = OutgoingMessage.objects.create(**fields, **{time: ahead(9_000)}, give_up_at=ahead(9_000))
        record(
            actor=Actor(name="otto"), act="retry message", target=f"message {message.pk}", after={"a": None}
        )
        ids.append(message.pk)
    return ids


def _logged(client: User, orders: Sequence[Any]) -> list[str]:
    """Requests in the client's log."""
    log, request_ids = RequestLog(), [f"request-{number}" for number in range(3)]
    for request_id in request_ids:
        log.note(
            Line(
                **{"request_id": request_id, "customer_id": client.pk, "at": ago(9), "method": "POST"},
                **{"path": "/api/v1/orders", "status": 202, "code": "", "order_ids": orders[:1]},
                **{"token": "sas_abcdef", "milliseconds": 7},
            )
        )
    log.write()
    return request_ids


def _set_up_agents() -> None:
    for agent in ("payments", "instruments"):
        Circuit.objects.get_or_create(agent=agent)
