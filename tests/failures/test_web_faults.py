"""The web process dies around the COMMIT of an order, or gets the same order twenty times at once (F1–F4, P1)."""

from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from uuid import UUID

import pytest

from orders.models import SubmissionKey, SubmissionMessage
from tests.failures.web_shop import Shop
from tests.support.blocked_tables import blocked, end_waits_for, somebody_waits_for
from tests.support.proxy import DatabaseProxy, Moment
from tests.support.system import SERVICES, System
from tests.support.wait import until
from tests.web.server import Answer

WAYS = pytest.mark.parametrize("is_alone", [False, True], ids=["together", "alone"])


def _finish(system: System, order_ids: set[str]) -> None:
    """Waits until every acknowledged order is processed, and checks that there is no other order."""
    system.acknowledged = [UUID(order_id) for order_id in order_ids]
    system.start_all()
    assert system.wait_until_ended() == ["processed"] * len(order_ids)
    system.check()


@pytest.mark.pattern("S1", "S3", "F1", "F2")
@WAYS
def test_killing_the_web_around_the_commit_of_an_order_places_it_once(
    system: System, shop: Shop, proxy: DatabaseProxy, is_alone: bool
) -> None:
    """Before: nothing was accepted, and the key is free. After: the post with the same key gets that order."""
    with ThreadPoolExecutor(2) as client:
        doomed = shop.serve()
        with blocked("orders_submissionmessage"):
            posted = client.submit(shop.post, doomed, "key-1", is_alone=is_alone)
            until(
                lambda: somebody_waits_for("orders_submissionmessage"),
                what="the web inside its transaction",
            )
            doomed.end()
            end_waits_for("orders_submissionmessage")
            with pytest.raises((OSError, HTTPException)):
                posted.result(60)
        assert not SubmissionMessage.objects.exists()
        stall = proxy.cut(Moment.STALL, "orders_submissionmessage")
        doomed = shop.serve(proxy.url)
        posted = client.submit(shop.post, doomed, "key-2", is_alone=is_alone)
        until(lambda: stall.stalled, what="a commit whose answer has not reached the web")
        doomed.end()
        with pytest.raises((OSError, HTTPException)):
            posted.result(60)
    assert SubmissionMessage.objects.count() == 1
    server = shop.serve()
    first, second = (shop.post(server, key, is_alone=is_alone) for key in ("key-1", "key-2"))
    assert (first.status, first.headers.get("idempotent-replayed")) == (202, None)
    assert (second.status, second.headers.get("idempotent-replayed")) == (202, "true")
    assert UUID(second.json["id"]) == SubmissionMessage.objects.order_by("id")[0].order_id
    _finish(system, {first.json["id"], second.json["id"]})


@pytest.mark.pattern("S3", "F3", "F4")
def test_twenty_simultaneous_posts_with_one_key_place_one_order(system: System, shop: Shop) -> None:
    """One order, and twenty times the same answer; the key with another body is refused and changes nothing."""
    server = shop.serve()
    with ThreadPoolExecutor(20) as crowd:
        answers = list(crowd.map(lambda _: shop.post(server, "one-key"), range(20)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.json["id"] for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert shop.post(server, "one-key", email="other@example.com").status == 422
    assert SubmissionKey.objects.count() == 1
    _finish(system, {answers[0].json["id"]})


@pytest.mark.pattern("S3", "F3")
def test_two_clients_with_one_key_at_once_have_an_order_each(system: System, shop: Shop) -> None:
    """A key belongs to an account, not to a token: two tokens of one account place one order."""
    server = shop.serve()
    accounts = {
        "ada": shop.new_token("ada"),
        "ada again": shop.new_token("ada"),
        "bob": shop.new_token("bob"),
    }
    with ThreadPoolExecutor(12) as crowd:
        tokens = list(accounts.values()) * 4
        answers = list(crowd.map(lambda token: shop.post(server, "one-key", token=token), tokens))
    assert {answer.status for answer in answers} == {202}
    ids = [answer.json["id"] for answer in answers]
    (adas,), (bobs,) = set(ids[0::3]) | set(ids[1::3]), set(ids[2::3])
    assert adas != bobs
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 2
    _finish(system, {adas, bobs})


@pytest.mark.pattern("C10", "S2")
@pytest.mark.parametrize("first", [("submission", "scheduler"), ()], ids=["while they go in", "before"])
def test_thirty_orders_placed_and_cancelled_at_once_are_compensated(
    system: System, shop: Shop, first: tuple[str, ...]
) -> None:
    """No agent runs until all are cancelled, so that none is past its point of no return; so nothing is done."""
    server = shop.serve()
    if first:
        system.start_all(*first)

    def place_and_cancel(number: int) -> tuple[str, Answer]:
        order_id = shop.post(server, f"key-{number}").json["id"]
        return order_id, shop.cancel(server, order_id)

    with ThreadPoolExecutor(10) as crowd:
        answers = list(crowd.map(place_and_cancel, range(30)))
    assert [(answer.status, answer.json.get("goal")) for _, answer in answers] == [(202, "compensate")] * 30
    system.acknowledged = [UUID(order_id) for order_id, _ in answers]
    system.start_all(*({"submission", "scheduler", "agents", "jobs"} - set(first)))
    assert system.wait_until_ended() == ["compensated"] * 30
    assert not any(system.ledger(service) for service in SERVICES)
    system.check()
