"""What happens too often for a statement each is counted from handfuls, and no more is let through by that."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.access import purses
from orders.access.limits import Count, LimitedError
from orders.access.purses import FILLED_EVERY, Purses
from sasweb.limits import Limit
from tests.support.people import token_of
from tests.support.wait import until
from tests.web.conftest import Limits
from tests.web.following import about
from tests.web.helpers import in_threads
from tests.web.server import Answer, Server
from tests.web.test_limits import pass_time

SUBJECT = ("reads.account", "1")


class Process(Purses):
    """The purses of one process of several, with a clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0
        super().__init__(clock=lambda: self.now)

    def left(self) -> int:
        """How many are left after one more."""
        count = self.spend(SUBJECT)
        assert count
        return count.tokens

    def spend_all(self) -> int:
        """Spends until it is refused, and returns how many it could."""
        for number in range(10_000):
            try:
                self.spend(SUBJECT)
            except LimitedError:
                return number
        raise AssertionError("it is never refused")


@pytest.mark.django_db
def test_a_process_counts_a_handful_with_one_statement(only: Limits) -> None:
    only(reads__account=400)
    process = Process()
    with CaptureQueriesContext(connection) as queries:
        assert [process.left() for _ in range(10)] == [*range(399, 389, -1)]
    assert len(queries) == 3


@pytest.mark.django_db
def test_processes_share_a_limit_to_the_last_token(only: Limits) -> None:
    only(reads__account=400)
    first, second = Process(), Process()
    assert first.left() == 399
    assert second.left() == 395, "three are held by the first"
    assert second.spend_all() == 395
    assert first.spend_all() == 3
    for process in (first, second):
        with pytest.raises(LimitedError) as refused:
            process.spend(SUBJECT)
        (count,) = refused.value.counts
        limit = Limit(most=400, seconds=3_600)
        assert 1 <= count.wait <= 9
        assert count == Count("reads.account", limit, 0, count.wait, is_refused=True)


@pytest.mark.django_db
def test_what_processes_keep_until_the_bucket_is_full_again_comes_on_top_of_it(only: Limits) -> None:
    only(reads__account=400)
    processes = [Process() for _ in range(5)]
    for process in processes:
        process.spend(SUBJECT)
    pass_time(3_600)
    assert sum(process.spend_all() for process in processes) == 415, "three of each"


@pytest.mark.django_db
def test_where_fewer_are_left_than_a_handful_a_process_takes_those(only: Limits) -> None:
    only(reads__account=400)
    purses.ask({SUBJECT: 398})
    assert Process().spend_all() == 2


@pytest.mark.django_db
def test_a_process_hears_within_seconds_what_others_take_and_loses_nothing_by_it(only: Limits) -> None:
    only(reads__account=400)
    process = Process()
    assert process.left() == 399
    purses.ask({SUBJECT: 100})
    assert process.left() == 398, "it has not heard of it"
    process.now += FILLED_EVERY
    assert process.left() == 297
    with CaptureQueriesContext(connection) as queries:
        assert [process.left() for _ in range(3)] == [296, 295, 294]
    assert not queries


@pytest.mark.django_db
def test_whoever_is_refused_is_refused_without_a_statement_until_the_time_that_was_said(only: Limits) -> None:
    only(reads__account=10)
    process = Process()
    assert process.spend_all() == 10
    pass_time(3_600)
    with CaptureQueriesContext(connection) as queries:
        for wait, passes in ((360, 359), (1, 1)):
            with pytest.raises(LimitedError) as refused:
                process.spend(SUBJECT)
            assert refused.value.wait == wait
            process.now += passes
    assert not queries
    assert process.left() == 9


@pytest.mark.django_db
def test_a_purse_that_nobody_used_for_long_makes_room(only: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    only(reads__account=400)
    monkeypatch.setattr(purses, "MOST", 1)
    process = Process()
    assert process.left() == 399
    process.spend(("reads.account", "2"))
    assert process.left() == 395, "what was in it is lost"


@pytest.mark.django_db
def test_a_limit_that_is_switched_off_counts_nothing(only: Limits) -> None:
    only(reads__account=400)
    with CaptureQueriesContext(connection) as queries:
        assert Process().spend(("anonymous.address", "192.0.2.1")) is None
    assert not queries


@pytest.mark.django_db(transaction=True)
def test_threads_that_spend_at_once_get_no_more_than_one_would(only: Limits) -> None:
    only(reads__account=300)
    process = Process()

    def spend(_: int) -> int:
        try:
            return process.spend_all()
        finally:
            connection.close()

    assert sum(future.result() for future in in_threads(8, spend)) == 300


# Several web processes.

MOST, PROCESSES = 200, 3
HELD = MOST // purses.HANDFULS
"""Tokens that a process takes at once."""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Server]]:
    limits = f"reads.account={MOST}/100000, anonymous.address={MOST}/100000"
    running = [
        Server(tmp_path / f"log-{number}", **about(f"purses-{number}"), LIMITS=limits)
        for number in range(PROCESSES)
    ]
    try:
        for server in running:
            until(server.answers, what="the server")
        yield running
    finally:
        for server in running:
            server.end()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_client", [True, False], ids=["a client", "an IP address"])
def test_web_processes_share_a_limit_of_reads_and_all_refuse_when_it_is_used_up(
    is_client: bool, catalogue: None, servers: list[Server]
) -> None:
    path = "/api/v1/orders" if is_client else "/api/v1/products"
    headers = {"Authorization": f"Token {token_of(User.objects.create(username='ada'))}"} if is_client else {}

    def read(number: int) -> list[Answer]:
        server = servers[number % PROCESSES]
        return [server.request("GET", path, headers=headers) for _ in range(MOST // 4)]

    answers = [answer for future in in_threads(2 * PROCESSES, read) for answer in future.result()]
    statuses = Counter(answer.status for answer in answers)
    assert statuses.keys() == {200, 429}
    assert MOST - PROCESSES * (HELD - 1) <= statuses[200] <= MOST
    for server in servers:
        while (answer := server.request("GET", path, headers=headers)).status == 200:
            statuses[200] += 1
        assert answer.status == 429
        assert 400 < int(answer.headers["retry-after"]) <= 500
        limit = "reads.account" if is_client else "anonymous.address"
        assert answer.headers["ratelimit"] == f'"{limit}";r=0;t={answer.headers["retry-after"]}'
    assert statuses[200] == MOST, "what one process holds is spent there"
