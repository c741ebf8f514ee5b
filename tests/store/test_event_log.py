"""Which events have a line in the log, and when it is written."""

from uuid import UUID

import pytest
from django.db import transaction
from structlog.testing import capture_logs

from orders.engine.rows import Actor, EventRow
from orders.engine.state_store import record_events
from orders.engine.state_store.event_log import ORDINARY, is_noteworthy
from orders.vocabulary import ActorKind, EventKind
from tests.support.factories import make_order

SCHEDULER = Actor(ActorKind.SCHEDULER, "scheduler:1")
ORDER = UUID(int=7)


def test_what_goes_as_it_should_is_not_logged_and_whatever_else_there_is_is() -> None:
    for kind in EventKind:
        assert is_noteworthy(EventRow(ORDER, kind, SCHEDULER, "mix", 1)) is (kind not in ORDINARY), kind
    assert is_noteworthy(EventRow(ORDER, EventKind.STEP_STARTED, SCHEDULER, "mix", 2))
    assert not {kind for kind in ORDINARY if "fail" in kind or "refus" in kind or "timed" in kind}


@pytest.mark.django_db(transaction=True)
def test_a_line_is_written_once_the_event_is_committed_and_never_otherwise() -> None:
    order = make_order({"mix": "running"})
    failed = EventRow(
        order.order_id,
        EventKind.STEP_FAILED,
        SCHEDULER,
        "mix",
        2,
        {"code": "timeout", "message": "Ada's cake was not answered"},
    )
    with capture_logs() as lines:
        with transaction.atomic():
            record_events(event for event in [failed])
            assert lines == []
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            record_events([failed])
            raise ZeroDivisionError
    assert lines == [
        {
            "event": "order event",
            "action": "step_failed",
            "order_id": str(order.order_id),
            "by": "scheduler",
            "step": "mix",
            "attempt": 2,
            "code": "timeout",
            "log_level": "info",
        }
    ]
