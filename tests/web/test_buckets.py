"""The buckets that count what somebody does: each refuses what would be too much, and says for how long."""

import re

import pytest
from django.db import connection

from orders.access.limits import LimitedError, seconds_until_room, take
from orders.models import Bucket
from orders.retention import delete_old_records
from tests.web.conftest import Limits
from tests.web.helpers import in_threads, pass_time


@pytest.mark.django_db
def test_a_bucket_gives_as_many_as_it_holds_and_refills_evenly(only: Limits) -> None:
    only(search__address=4)
    subject = ("search.address", "192.0.2.1")
    for _ in range(4):
        take([subject])
    with pytest.raises(LimitedError) as refused:
        take([subject])
    assert 895 <= refused.value.wait <= 900
    assert seconds_until_room(subject) == refused.value.wait
    pass_time(refused.value.wait)
    assert not seconds_until_room(subject)
    take([subject])
    with pytest.raises(LimitedError):
        take([subject])
    pass_time(24 * 3_600)
    for _ in range(4):  # no more than a full bucket, however long nobody took any
        take([subject])
    with pytest.raises(LimitedError):
        take([subject])


@pytest.mark.django_db
def test_subjects_and_limits_do_not_share_a_bucket_and_the_longest_wait_counts(only: Limits) -> None:
    only(search__address=1, search__account=2)
    take([("search.address", "a"), ("search.account", "a")])
    take([("search.address", "b")])
    with pytest.raises(LimitedError) as refused:
        take([("search.address", "a"), ("search.account", "a")])
    assert 3_590 <= refused.value.wait <= 3_600
    with pytest.raises(LimitedError) as refused:
        take([("search.account", "a")])
    assert 1_790 <= refused.value.wait <= 1_800


@pytest.mark.django_db(transaction=True)
def test_processes_that_take_at_once_get_no_more_than_one_would(only: Limits) -> None:
    only(search__address=10, search__account=10)

    def try_to_take(number: int) -> bool:
        try:
            pair = [("search.address", "a"), ("search.account", "b")]
            take(pair if number % 2 else pair[::-1])
        except LimitedError:
            return False
        finally:
            connection.close()
        return True

    assert sum(future.result() for future in in_threads(30, try_to_take)) == 10


@pytest.mark.django_db
def test_the_table_is_unlogged_and_holds_no_address(only: Limits) -> None:
    only(search__address=5)
    take([("search.address", "192.0.2.77")])
    with connection.cursor() as cursor:
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'orders_bucket'")
        assert cursor.fetchone() == ("u",)
    assert re.fullmatch(r"search\.address:[0-9a-f]{24}", Bucket.objects.get().key)


@pytest.mark.django_db(transaction=True)
def test_full_buckets_are_deleted(only: Limits) -> None:
    only(search__address=5)
    take([("search.address", "long ago")])
    pass_time(3_600)
    take([("search.address", "now")])
    assert delete_old_records()["buckets"] == 1
    assert Bucket.objects.count() == 1
