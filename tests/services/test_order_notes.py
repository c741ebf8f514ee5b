"""Operators' notes on orders: wherever the order is, kept whole, audited, and a change of nothing else."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.db.models import F
from django.utils import timezone
from uuid_utils.compat import uuid7

from orders.engine.channels import submissions
from orders.models import AuditEntry, Event, OrderNote, OrderProcess, SetAside, StepState
from orders.retention import moving
from orders.selectors.desk.order_detail import order_detail
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.orders import order_version
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators.erasure import erase
from orders.services.operators.order_notes import AGAIN, add_note
from orders.services.order_lock import NoSuchOrderError
from tests.support.desk import OLGA, OTTO
from tests.support.factories import ago, make_order, make_purchase
from tests.support.finished_orders import archive, finished_order

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
FRAME = "Called the customer,\nshe takes the black frame."


def under_way() -> UUID:
    return make_order({"mix": "running"}, process_state="processing").order_id


def finished() -> UUID:
    return finished_order(days=1)


def archived() -> UUID:
    order_id = finished_order()
    archive(order_id)
    return order_id


def queued() -> UUID:
    order_id = uuid7()
    submissions.post(order_id=order_id, client="c", body={})
    return order_id


def set_aside() -> UUID:
    order_id = uuid7()
    SetAside.objects.create(order_id=order_id, client="c", body={}, reason="no", posted_at=ago(9))
    return order_id


def notes_shown(order_id: UUID) -> list[tuple[str, str]]:
    """Who wrote what, as whoever reads all about the order gets it."""
    detail = order_detail(order_id, retry_limits=retry_limits(), now=timezone.now())
    assert detail is not None
    return [(note.by, note.text) for note in detail.notes]


@pytest.mark.parametrize("place", [under_way, finished, archived, queued, set_aside])
def test_an_order_can_be_noted_about_wherever_it_is(place: Callable[[], UUID]) -> None:
    order_id = place()
    assert add_note(order_id=order_id, actor=OLGA, text=f"  {FRAME} ").status is ResultStatus.DONE
    add_note(order_id=order_id, actor=OTTO, text="It is packed.")
    assert notes_shown(order_id) == [(OTTO.name, "It is packed."), (OLGA.name, FRAME)]
    entry = AuditEntry.objects.get(actor=OLGA.name)
    assert (entry.act, entry.target, entry.result) == ("note", f"order {order_id}", FRAME)


def test_a_second_click_adds_nothing_and_the_same_words_an_hour_later_do() -> None:
    order_id = under_way()
    add_note(order_id=order_id, actor=OLGA, text="no answer")
    assert add_note(order_id=order_id, actor=OLGA, text="no answer").status is ResultStatus.ALREADY
    assert add_note(order_id=order_id, actor=OTTO, text="no answer").status is ResultStatus.DONE
    OrderNote.objects.update(at=F("at") - AGAIN)
    assert add_note(order_id=order_id, actor=OTTO, text="no answer").status is ResultStatus.DONE
    assert OrderNote.objects.count() == AuditEntry.objects.count() == 3


def test_a_note_needs_text_and_an_order() -> None:
    order_id = under_way()
    assert add_note(order_id=order_id, actor=OLGA, text=" \n\x00").status is ResultStatus.REFUSED
    with pytest.raises(NoSuchOrderError):
        add_note(order_id=uuid7(), actor=OLGA, text=FRAME)
    assert not OrderNote.objects.exists()


def test_a_note_changes_nothing_of_its_order() -> None:
    order_id = under_way()

    def state() -> list[object]:
        rows = [list(model.objects.values_list()) for model in (OrderProcess, StepState, Event)]
        return [rows, order_version(order_id)]

    before = state()
    add_note(order_id=order_id, actor=OLGA, text=FRAME)
    assert state() == before


@pytest.mark.parametrize("is_archived", [False, True], ids=("finished", "archived"))
def test_an_erasure_empties_the_notes_on_her_orders_and_takes_her_out_of_others(is_archived: bool) -> None:
    email = "zelda@customer.example"
    hers, others = (
        finished_order(days=1, purchase={"email": address}) for address in (email, "bob@example.com")
    )
    add_note(order_id=hers, actor=OLGA, text="Her neighbour Kees takes it in.")
    add_note(order_id=others, actor=OLGA, text=f"{email} asked for it, too.")
    if is_archived:
        archive(hers)
    erase(email=email, actor=Actor(name="admin"))
    assert notes_shown(hers) == [(OLGA.name, "erased")]
    ((by, text),) = notes_shown(others)
    assert by == OLGA.name and email not in text and text.endswith(" asked for it, too.")
    assert not AuditEntry.objects.filter(result__contains="Kees").exists()


def test_notes_stay_while_their_order_is_in_the_archive_and_go_with_it() -> None:
    order_id, other = finished_order(), under_way()
    for noted in (order_id, other):
        add_note(order_id=noted, actor=OLGA, text=FRAME)
    archive(order_id)
    assert notes_shown(order_id) == [(OLGA.name, FRAME)]
    assert moving.delete_archived(before=ago(-60)).changed == 1
    assert list(OrderNote.objects.values_list("order_id", flat=True)) == [other]


def test_what_the_state_store_alone_knows_of_an_order_is_enough() -> None:
    order_id = make_order({}).order_id
    make_purchase(order_id).delete()
    assert add_note(order_id=order_id, actor=OLGA, text=FRAME).status is ResultStatus.DONE
