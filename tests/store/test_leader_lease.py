"""Leadership: one leader at a time, and no write of an earlier term (V6, I6)."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.sql import database_now
from orders.engine.supervisor import leadership
from orders.models import LeaderLease
from tests.support.factories import ago
from tests.support.two_sessions import PATIENCE, Session, all_at_once

NewSession = Callable[[], Session]
NAME = LeaderLease.SUPERVISOR


def acquire(holder: str = "one") -> int | None:
    return leadership.acquire(NAME, holder=holder, seconds=10.0)


def check(term: int) -> None:
    leadership.check(NAME, term=term)


def lapse() -> None:
    assert LeaderLease.objects.filter(name=NAME).update(expires_at=ago(1)) == 1


def stored() -> LeaderLease:
    return LeaderLease.objects.get(name=NAME)


@pytest.mark.django_db
@pytest.mark.pattern("V6")
def test_the_first_to_ask_leads_for_the_given_time_and_no_other() -> None:
    before = database_now()
    assert acquire("one") == 1
    after = database_now()
    assert acquire("two") is None
    assert acquire("one") is None
    lease = stored()
    assert (lease.holder, lease.term, lease.swept_at, lease.last_sweep) == ("one", 1, None, {})
    assert lease.expires_at is not None
    assert before <= lease.expires_at - timedelta(seconds=10) <= after
    assert leadership.acquire("something else", holder="two", seconds=10.0) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("V6")
@pytest.mark.parametrize("state", ["never led", "given up", "lapsed"])
def test_of_eight_contenders_exactly_one_leads(state: str) -> None:
    terms_before = 0
    if state != "never led":
        terms_before = acquire("earlier") or 0
        if state == "lapsed":
            lapse()
        else:
            leadership.release(NAME, term=terms_before)
    answers = all_at_once(8, lambda n: acquire(f"contender {n}"))
    (term,) = [answer for answer in answers if answer is not None]
    assert term == terms_before + 1
    assert (stored().holder, stored().term) == (f"contender {answers.index(term)}", term)


@pytest.mark.pattern("V6")
@pytest.mark.parametrize("state", ["never led", "lapsed"])
def test_a_contender_that_arrives_while_another_is_winning_loses(new_session: NewSession, state: str) -> None:
    if state == "lapsed":
        acquire("earlier")
        lapse()
    session, other = new_session(), new_session()
    session.begin()
    won = session.do(lambda: acquire("one"))
    lost = other.start(lambda: acquire("other"))
    other.await_wait()
    session.commit()
    assert lost.result(timeout=PATIENCE) is None
    assert (stored().holder, stored().term) == ("one", won)


@pytest.mark.django_db
@pytest.mark.pattern("V6")
def test_a_lease_that_lapsed_goes_to_the_next_with_a_higher_term() -> None:
    assert acquire("one") == 1
    # past by the database's clock, though not by the start of this transaction (trap 6)
    LeaderLease.objects.update(expires_at=database_now())
    assert acquire("two") == 2
    lapse()
    assert acquire("one") == 3


@pytest.mark.django_db
@pytest.mark.pattern("V6")
def test_a_lease_that_was_given_up_is_free_at_once() -> None:
    assert acquire("one") == 1
    leadership.release(NAME, term=1)
    assert (stored().holder, stored().expires_at, stored().term) == (None, None, 1)
    assert acquire("two") == 2


@pytest.mark.django_db
@pytest.mark.pattern("V6")
def test_an_earlier_term_is_refused_everywhere_and_changes_nothing() -> None:
    """I6, F19: a leader that was stopped for longer than its lease."""
    acquire("one")
    lapse()
    assert acquire("two") == 2
    before = LeaderLease.objects.values().get()
    with pytest.raises(LeadershipLost, match="term 1 of supervisor is over"):
        check(1)
    with pytest.raises(LeadershipLost, match="term 1 of supervisor is over"):
        leadership.renew(NAME, term=1, seconds=100.0, report={"found": 1})
    leadership.release(NAME, term=1)
    assert LeaderLease.objects.values().get() == before
    check(2)
    leadership.renew(NAME, term=2, seconds=10.0, report={})


@pytest.mark.django_db
@pytest.mark.pattern("V6")
@pytest.mark.parametrize("term", [0, 1, 2])
def test_nobody_leads_before_the_first_term_or_with_a_future_term(term: int) -> None:
    if term == 2:
        acquire("one")
    with pytest.raises(LeadershipLost):
        check(term)
    with pytest.raises(LeadershipLost):
        leadership.renew(NAME, term=term, seconds=10.0, report={})


@pytest.mark.django_db
def test_a_term_that_was_given_up_cannot_be_renewed() -> None:
    acquire("one")
    leadership.release(NAME, term=1)
    with pytest.raises(LeadershipLost):
        leadership.renew(NAME, term=1, seconds=10.0, report={})
    assert stored().expires_at is None


@pytest.mark.django_db
@pytest.mark.pattern("V6")
def test_a_leader_may_continue_after_its_lease_lapsed_until_another_takes_it() -> None:
    acquire("one")
    lapse()
    check(1)
    before = database_now()
    leadership.renew(NAME, term=1, seconds=10.0, report={"found": 3, "recovered": 2})
    after = database_now()
    lease = stored()
    assert lease.expires_at is not None
    assert lease.swept_at is not None
    assert before <= lease.expires_at - timedelta(seconds=10) <= after
    assert before <= lease.swept_at <= after
    assert (lease.holder, lease.term, lease.last_sweep) == ("one", 1, {"found": 3, "recovered": 2})
    assert acquire("two") is None


@pytest.mark.pattern("V6")
def test_a_successor_waits_until_the_sweep_that_checked_its_term_has_ended(new_session: NewSession) -> None:
    """I6: two terms never write at once, even when the lease lapses in the middle of a sweep."""
    assert acquire("one") == 1
    lapse()
    leader, successor = new_session(), new_session()
    leader.begin()
    leader.do(lambda: check(1))
    waiting = successor.start(lambda: acquire("two"))
    successor.await_wait()
    leader.commit()
    assert waiting.result(timeout=PATIENCE) == 2
    with pytest.raises(LeadershipLost), transaction.atomic():
        check(1)


def test_a_sweep_that_begins_while_a_successor_is_winning_finds_that_its_term_is_over(
    new_session: NewSession,
) -> None:
    assert acquire("one") == 1
    lapse()
    leader, successor = new_session(), new_session()
    successor.begin()
    assert successor.do(lambda: acquire("two")) == 2
    leader.begin()
    checking = leader.start(lambda: check(1))
    leader.await_wait()
    successor.commit()
    with pytest.raises(LeadershipLost):
        checking.result(timeout=PATIENCE)


def test_two_sweeps_of_one_term_do_not_wait_for_each_other(new_session: NewSession) -> None:
    acquire("one")
    session, other = new_session(), new_session()
    session.begin()
    session.do(lambda: check(1))
    other.begin()
    other.do(lambda: check(1))


@pytest.mark.django_db
def test_a_check_is_one_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    acquire("one")
    with django_assert_num_queries(1):
        check(1)
