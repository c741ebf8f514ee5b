"""A business says which limits its own pages count for, and what it does not name is counted all the same."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from rest_framework.test import APIClient

from orders.access import limited_requests
from tests.support.people import person, signed_in
from tests.web.conftest import Limits

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.web.bakery_pages")]

ELSEWHERE = {"REMOTE_ADDR": "203.0.113.9"}


def statuses(client: Client, url: str, count: int = 3, method: str = "post") -> list[int]:
    """The answers to so many requests."""
    return [getattr(client, method)(url).status_code for _ in range(count)]


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_what_nobody_declared_is_counted_by_address_or_account(
    method: str, only: Limits, client: Client
) -> None:
    only(posts__address=2, posts__account=2)
    assert statuses(client, "/bakery/bake/", method=method) == [200, 200, 429]
    assert statuses(client, "/bakery/boil/", method=method) == [429] * 3, "all of them share the bucket"
    assert statuses(Client(**ELSEWHERE), "/bakery/bake/", 1, method) == [200]
    ada = signed_in(person("customer", "ada"))
    assert statuses(ada, "/bakery/bake/", method=method) == [200, 200, 429], (
        "somebody with an account has her own"
    )
    assert statuses(client, "/bakery/bake/", method="get") == [200] * 3, "looking is free"


def test_a_page_counts_for_what_its_business_declares_and_for_nothing_else(
    only: Limits, client: Client, settings: Any
) -> None:
    settings.LIMITED_POSTS = {"bakery:bake": ("sign_up.address",)}
    only(posts__address=1, sign_up__address=2)
    assert statuses(client, "/bakery/bake/") == [200, 200, 429]
    assert statuses(client, "/bakery/boil/") == [200, 429, 429]


def test_where_accounts_are_counted_neighbours_with_accounts_do_not_share_a_bucket(
    only: Limits, settings: Any
) -> None:
    settings.LIMITED_POSTS = {"bakery:bake": ("orders.account", "posts.address")}
    only(orders__account=2, posts__address=1)
    for name in ("ada", "bob"):
        assert statuses(signed_in(person("customer", name)), "/bakery/bake/") == [200, 200, 429]
    assert statuses(Client(), "/bakery/bake/") == [200, 429, 429]


def test_operators_are_not_refused_because_a_neighbour_posts_too_often(only: Limits, client: Client) -> None:
    only(posts__address=1)
    assert statuses(client, "/bakery/bake/", 2) == [200, 429]
    olga = signed_in(person("operator", "olga"))
    assert 429 not in statuses(olga, "/console/agents/mail/pause/")


def test_views_of_the_api_are_counted_by_address_and_with_a_token_by_account(
    only: Limits, client: Client, ada: APIClient, bob: APIClient
) -> None:
    only(posts__address=2, posts__account=2)
    assert statuses(client, "/bakery-api/quotes") == [200, 200, 429]
    assert statuses(Client(**ELSEWHERE), "/bakery-api/quotes", 1) == [200]
    assert statuses(ada, "/bakery-api/quotes") == [200, 200, 429]
    assert statuses(bob, "/bakery-api/quotes", 1) == [200]


def test_views_of_the_api_that_search_are_counted_by_address_and_account(
    only: Limits, client: Client, ada: APIClient, settings: Any
) -> None:
    only(search__address=2, search__account=1)
    assert statuses(client, "/bakery-api/quotes?of=cake", method="get") == [200] * 3
    settings.LIMITED_SEARCHES = {"api:quotes"}
    assert statuses(client, "/bakery-api/quotes?of=cake", method="get") == [200, 200, 429]
    assert statuses(client, "/bakery-api/quotes", method="get") == [200] * 3
    assert statuses(ada, "/bakery-api/quotes?of=cake", 2, "get") == [200, 429]


def test_what_a_remote_service_answers_is_not_counted_as_a_post(only: Limits, client: Client) -> None:
    only(posts__address=1)
    answers = [client.post("/callbacks/nobodys", {}, "application/json") for _ in range(3)]
    assert 429 not in [answer.status_code for answer in answers]


@pytest.mark.parametrize("limit", ["sign_up.adress", "sign_in.name"])
def test_a_limit_that_no_page_can_count_for_is_refused_at_the_start(limit: str, settings: Any) -> None:
    settings.LIMITED_POSTS = {"bakery:bake": (limit,)}
    with pytest.raises(
        ImproperlyConfigured, match=f"bakery:bake names the limit '{limit}'; a page can count"
    ):
        limited_requests.LimitedRequests(lambda _request: None)  # type: ignore[arg-type,return-value]


def test_the_platform_names_no_page_of_a_business() -> None:
    pages = {*limited_requests.POSTED, *limited_requests.EXPORTS}
    assert {page.partition(":")[0] for page in pages} == {"console", "admin", "order"}
