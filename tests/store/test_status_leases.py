"""Consumers that lease and acknowledge messages of one response queue at the same time (Q2)."""

from collections import Counter
from functools import partial
from uuid import UUID, uuid4

import pytest
from django.db import transaction

from orders.engine.channels import status
from orders.engine.channels.status import Status
from orders.engine.channels.status_leases import StatusLease
from orders.models import StatusMessage
from orders.services.act_results import ResultStatus
from orders.services.response_queues import acknowledge_messages, lease_messages, release_messages
from orders.vocabulary import StatusKind
from tests.support.factories import ago
from tests.support.two_sessions import PATIENCE, NewSession, all_at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("Q2")]

QUEUE = "user:1/shop"


def post(orders: int, kinds: int = 1) -> None:
    words = list(StatusKind)[:kinds]
    ids = [uuid4() for _ in range(orders)]
    status.post(Status(QUEUE, order_id, word) for word in words for order_id in ids)


def lease(limit: int = 100) -> StatusLease | None:
    return lease_messages(queue=QUEUE, limit=limit, seconds=60)


def ids(lease: StatusLease | None) -> list[int]:
    return list(lease.message_ids) if lease else []


def stored() -> list[int]:
    return [*StatusMessage.objects.order_by("id").values_list("pk", flat=True)]


def lapse() -> None:
    StatusMessage.objects.update(leased_until=ago(1))


def lapsed() -> tuple[int, UUID]:
    """A message whose lease has lapsed, and the token of that lease."""
    post(orders=1)
    (number,) = stored()
    taken = lease()
    assert taken is not None
    lapse()
    return number, taken.token


def acknowledged(token: UUID, *numbers: int) -> list[ResultStatus]:
    results = acknowledge_messages(queue=QUEUE, lease=token, message_ids=numbers)
    return [result.status for _, result in results]


def test_whoever_leases_at_the_same_time_waits_and_gets_other_messages(new_session: NewSession) -> None:
    post(orders=4, kinds=2)
    numbers = stored()
    first, second = new_session(), new_session()
    first.begin()
    assert ids(first.do(partial(lease, 3))) == numbers[:3]
    leasing = second.start(lease)
    second.await_wait()
    first.commit()
    # Not the later messages of the three orders, whose first ones are leased.
    assert ids(leasing.result(timeout=PATIENCE)) == [numbers[3], numbers[7]]


def test_consumers_that_begin_together_share_every_message_and_keep_the_order_of_each_order() -> None:
    post(orders=12, kinds=4)
    order_of = dict(StatusMessage.objects.values_list("pk", "order_id"))
    sequence_of = dict(StatusMessage.objects.values_list("pk", "sequence"))

    def consume(_: int) -> list[int]:
        numbers: list[int] = []
        while StatusMessage.objects.exists():
            taken = lease(limit=3)
            if taken is not None:
                numbers += taken.message_ids
                assert set(acknowledged(taken.token, *taken.message_ids)) == {ResultStatus.DONE}
        return numbers

    shares = all_at_once(4, consume)
    assert Counter(number for share in shares for number in share) == dict.fromkeys(order_of, 1)
    for share in shares:
        for order_id in set(order_of.values()):
            own = [sequence_of[number] for number in share if order_of[number] == order_id]
            assert own == sorted(own)


def test_an_acknowledgement_that_meets_a_new_lease_of_another_is_refused(new_session: NewSession) -> None:
    number, token = lapsed()
    other, late = new_session(), new_session()
    other.begin()
    assert ids(other.do(lease)) == [number]
    acknowledging = late.start(partial(acknowledged, token, number))
    late.await_wait()
    other.commit()
    assert acknowledging.result(timeout=PATIENCE) == [ResultStatus.REFUSED]
    assert stored() == [number]


def test_a_lease_that_meets_an_acknowledgement_leaves_out_what_is_gone(new_session: NewSession) -> None:
    post(orders=2)
    first, second = stored()
    old = lease(limit=1)
    assert old is not None
    lapse()
    owner, other = new_session(), new_session()
    owner.begin()
    assert owner.do(partial(acknowledged, old.token, first)) == [ResultStatus.DONE]
    leasing = other.start(lease)
    other.await_wait()
    owner.commit()
    assert ids(leasing.result(timeout=PATIENCE)) == [second]


def test_an_acknowledgement_that_is_not_committed_frees_no_later_message(new_session: NewSession) -> None:
    post(orders=1, kinds=2)
    first, second = stored()
    taken = lease(limit=1)
    assert taken is not None
    owner = new_session()
    owner.begin()
    owner.do(partial(acknowledged, taken.token, first))
    assert lease() is None
    owner.rollback()
    assert lease() is None
    acknowledged(taken.token, first)
    assert ids(lease()) == [second]


def test_two_acknowledgements_of_the_same_messages_wait_for_each_other(new_session: NewSession) -> None:
    post(orders=2)
    numbers = stored()
    taken = lease()
    assert taken is not None
    first, second = new_session(), new_session()
    first.begin()
    first.do(partial(acknowledged, taken.token, *numbers))
    repeating = second.start(partial(acknowledged, taken.token, *reversed(numbers)))
    second.await_wait()
    first.commit()
    assert repeating.result(timeout=PATIENCE) == [ResultStatus.ALREADY] * 2


def test_who_gives_back_what_another_leases_at_that_moment_takes_nothing_away(
    new_session: NewSession,
) -> None:
    number, token = lapsed()
    other, late = new_session(), new_session()
    other.begin()
    other.do(lease)
    releasing = late.start(partial(release_messages, queue=QUEUE, lease=token, message_ids=[number]))
    late.await_wait()
    other.commit()
    ((_, result),) = releasing.result(timeout=PATIENCE)
    assert result.status is ResultStatus.REFUSED
    assert lease() is None


def test_leases_of_different_queues_do_not_wait_for_each_other(new_session: NewSession) -> None:
    post(orders=1)
    status.post([Status("user:1/other", uuid4(), StatusKind.RECEIVED)])
    busy = new_session()
    with transaction.atomic():
        assert lease() is not None
        take = partial(lease_messages, queue="user:1/other", limit=1, seconds=60)
        assert len(ids(busy.do(take))) == 1
