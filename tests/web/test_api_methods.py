"""`Allow` lists exactly what answers: HEAD wherever there is GET, and OPTIONS everywhere."""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from sasweb.middleware import METHODS
from tests.support.people import api_client, person, token_of
from tests.support.system import database_url
from tests.web.helpers import assert_problem, change_state, place, run_submission
from tests.web.places import every_place
from tests.web.server import Server, running

ODD = {"api:unknown", "callbacks:unknown"}
SHOWS = ("/api/v1/products", "/api/schema/", "/api/docs/", "/api/problems/", "/api/problems/not_found")


def places() -> dict[str, str]:
    """A URL of each view of the API and of the callbacks."""
    return {
        name: path
        for name, path in every_place().items()
        if name.startswith(("api:", "callbacks:")) and name not in ODD
    }


def methods(response: Any) -> set[str]:
    return set(response["Allow"].split(", "))


@pytest.fixture
def root(catalogue: None) -> APIClient:
    """Somebody whose token has every scope."""
    return api_client(token_of(person("admin")))


@pytest.mark.django_db
def test_allow_lists_the_methods_that_answer(root: APIClient) -> None:
    for name, path in places().items():
        options = root.options(path)
        assert (options.status_code, options.content, options.headers.get("Content-Type")) == (200, b"", None)
        assert options["Content-Length"] == "0"
        allowed = methods(options)
        assert "OPTIONS" in allowed, name
        assert ("HEAD" in allowed) is ("GET" in allowed), name
        for method in {*METHODS, "TRACE", "FOO"} - allowed:
            response = root.generic(method, path)
            if method != "HEAD":
                assert_problem(response, "method_not_allowed")
            assert (response.status_code, methods(response)) == (405, allowed), (name, method)
        for method in allowed:
            assert root.generic(method, path, "{}", "application/json").status_code != 405, (name, method)


@pytest.mark.django_db
def test_options_need_a_token_where_the_other_methods_do(anybody: APIClient) -> None:
    assert_problem(anybody.options("/api/v1/orders"), "not_authenticated")
    assert_problem(anybody.options("/api/nothing"), "not_found")


@pytest.fixture(scope="module")
def shared(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("methods") / "log"
    with running(Server(log, database_url=database_url())) as server:
        yield server
    assert "WARNING" not in log.read_text()


@pytest.mark.django_db(transaction=True)
def test_head_says_of_every_page_what_get_says_and_sends_nothing(shared: Server, ada: APIClient) -> None:
    order = place(ada)["links"]["self"]
    signed = {"Authorization": f"Token {ada.token}", "X-Request-ID": "the-same-for-both"}
    for path in (
        *SHOWS,
        "/api/v1/orders",
        order,
        f"{order}/events",
        "/api/nothing",
        "/api/v1/orders?page_size=x",
    ):
        get, head = (shared.request(method, path, headers=signed) for method in ("GET", "HEAD"))
        assert (head.status, head.body) == (get.status, b"")
        assert {**head.headers, "date": ""} == {**get.headers, "date": ""}, path
        assert get.headers["content-length"] == str(len(get.body)), path


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_may_have_no_content_has_no_length(shared: Server, ada: APIClient) -> None:
    signed = {"Authorization": f"Token {ada.token}"}
    placed = place(ada, reply_to="replies")
    order = placed["links"]["self"]
    etag = shared.request("GET", order, headers=signed).headers["etag"]
    for method in ("GET", "HEAD"):
        unchanged = shared.request(method, order, headers={**signed, "If-None-Match": etag})
        assert (unchanged.status, unchanged.body, unchanged.headers["etag"]) == (304, b"", etag)
        assert unchanged.headers.keys().isdisjoint({"content-length", "transfer-encoding", "content-type"})
    run_submission()
    change_state(placed["id"], "processed")
    queue = "/api/v1/response-queues/replies/messages"
    message = shared.request("GET", queue, headers=signed).json["results"][0]
    deleted = shared.request("DELETE", f"{queue}/{message['id']}", headers=signed)
    assert (deleted.status, deleted.body) == (204, b"")
    assert deleted.headers.keys().isdisjoint({"content-length", "transfer-encoding", "content-type"})
