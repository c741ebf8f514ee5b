"""Writes about the desk that the database refuses, each with the constraint that is named as what it enforces."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from orders.models import (
    AgentFigures,
    AgentTally,
    AlertGroup,
    ApprovalRequest,
    BulkAction,
    BulkItem,
    CauseFigures,
    CustomerTerm,
    IntakePause,
    OrderFigures,
    OrderNote,
    Presence,
    SavedView,
    StepPause,
)
from orders.models.figures import AGES, BUCKETS
from tests.support.factories import ago, ahead, make_order

MINUTE = {"span": "minute", "began": "2026-11-27T03:00Z"}
NONE: dict[str, Any] = {"placed": 0, "processed": 0, "failed": 0, "cancelled": 0}


def figures(ages: int = AGES) -> None:
    OrderFigures.objects.create(**MINUTE, **NONE, took=[0] * AGES, unfinished=[0] * ages)


def tally(buckets: int = BUCKETS) -> None:
    AgentTally.objects.create(agent="oven", outcome="ok", calls=1, buckets=[0] * buckets, seconds=1.0)


def agent_figures() -> None:
    AgentFigures.objects.create(**MINUTE, agent="oven", calls=1, errors=0, buckets=[0] * BUCKETS)


def approval(**fields: Any) -> None:
    ApprovalRequest.objects.create(
        **{
            "act": "erase_customer",
            "target": "order 1",
            "digest": "d",
            "asked_by": "olga",
            "expires_at": ahead(60),
        }
        | fields
    )


def item_of_an_action(**fields: Any) -> None:
    action = BulkAction.objects.create(kind="compensate", starts_at=ago(1), total=1)
    BulkItem.objects.create(**{"action": action, "position": 0, "order_id": UUID(int=1)} | fields)


def intake_pause(**fields: Any) -> None:
    IntakePause.objects.create(**{"by": "ada", "reason": "stock-taking", **fields})


def view(**fields: Any) -> None:
    owner = User.objects.get_or_create(username=fields.pop("owner", "olga"))[0]
    SavedView.objects.create(**{"owner": owner, "name": "late", "query": "promise:late"} | fields)


def step_pause(**fields: Any) -> None:
    StepPause.objects.create(**{"workflow": "cake", "step": "mix", "by": "ada", "reason": "mould", **fields})


def presence() -> None:
    Presence.objects.create(kind="order", target="1", operator="olga")


def two(write: Callable[[], object]) -> Callable[[], object]:
    return lambda: [write() for _ in range(2)]


OF_THE_DESK: list[tuple[str, str, Callable[[], object]]] = [
    ("the_intake_has_one_pause_at_most", "a second pause of the intake", lambda: intake_pause(id=2)),
    ("a_pause_of_the_intake_has_a_reason", "a pause without a reason", lambda: intake_pause(reason="")),
    ("a_step_has_one_pause_at_most", "a second pause of a step", two(step_pause)),
    ("a_pause_of_a_step_has_a_reason", "a pause of a step without a reason", lambda: step_pause(reason="")),
    (
        "a_pause_of_a_step_ends_after_it_began",
        "a pause of a step that ends before it began",
        lambda: step_pause(until=ago(60)),
    ),
    (
        "what_is_paused_is_not_in_flight",
        "a paused step that is under way",
        lambda: make_order({"mix": {"state": "running", "paused_since": ago(1)}}),
    ),
    (
        "a_pause_of_the_intake_ends_after_it_began",
        "a pause that ends before it began",
        lambda: intake_pause(until=ago(60)),
    ),
    ("one_row_of_figures_per_span", "a minute twice", two(figures)),
    ("figures_have_every_age", "a histogram with too few ages", lambda: figures(AGES - 1)),
    ("one_tally_per_outcome", "a tally twice", two(tally)),
    ("a_person_is_at_a_page_once", "somebody at a page twice", two(presence)),
    (
        "a_note_has_text",
        "an empty note",
        lambda: OrderNote.objects.create(order_id=UUID(int=1), by="olga", text=""),
    ),
    ("a_tally_has_every_bucket", "a tally with too many buckets", lambda: tally(BUCKETS + 1)),
    ("one_row_of_agent_figures_per_span", "an agent's minute twice", two(agent_figures)),
    (
        "one_row_of_cause_figures_per_span",
        "a cause's minute twice",
        two(lambda: CauseFigures.objects.create(**MINUTE, group_id=1, opened=1)),
    ),
    (
        "a_term_of_an_email_once",
        "a term twice",
        two(lambda: CustomerTerm.objects.create(email="a@example.com", term="a", is_name=False)),
    ),
    ("an_act_waits_for_approval_once", "an act asked for twice", two(approval)),
    ("a_view_has_a_name_and_a_query", "a view without a name", lambda: view(name="")),
    ("an_owner_has_one_view_of_a_name", "a view twice", lambda: [view(), view(name="Late")]),
    (
        "one_shared_view_has_a_name",
        "a name shared twice",
        lambda: [view(is_shared=True), view(owner="otto", is_shared=True)],
    ),
    (
        "a_request_is_decided_or_waits",
        "a request that waits and was decided",
        lambda: approval(decided_at=ago(1)),
    ),
    (
        "nobody_approves_her_own_request",
        "her own request",
        lambda: approval(state="approved", decided_by="olga", decided_at=ago(1)),
    ),
    ("the_sum_of_an_item_has_a_currency", "a sum of no currency", lambda: item_of_an_action(amount=1)),
    ("the_sum_of_an_item_has_a_currency", "nothing held", lambda: item_of_an_action(is_held=True)),
    (
        "only_an_order_that_goes_forward_is_paused",
        "a paused order that has ended",
        lambda: make_order(process_state="processed", paused_at=ago(1)),
    ),
    ("only_a_pause_ends", "the end of no pause", lambda: make_order(paused_until=ahead(60))),
    (
        "a_snoozed_group_says_who_and_until_when",
        "a snooze of nobody",
        lambda: AlertGroup.objects.create(
            kind="outage", agent="a", code="c", pattern="p", snoozed_at=ago(1), snoozed_until=ahead(60)
        ),
    ),
]
