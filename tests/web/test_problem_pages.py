"""Each problem's `type` leads to a page that explains it, in a browser and in a terminal."""

from urllib.parse import urlsplit

import pytest
from django.test import Client

from orders.api.problems import PROBLEMS
from sasweb.problems import type_url
from tests.web.helpers import assert_problem
from tests.web.markup import Markup

pytestmark = pytest.mark.django_db

LIST = "/api/problems/"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
TEXT = {"Accept": "text/plain"}
AGAIN = {
    "rate_limited": "Yes. Wait for the number of seconds",
    "internal_error": "It may succeed, or fail again.",
    "validation_failed": "No. The same request will fail again",
}


@pytest.mark.parametrize("code", PROBLEMS)
def test_a_problem_has_a_page_at_its_type(code: str, client: Client) -> None:
    problem, path = PROBLEMS[code], urlsplit(type_url(code)).path
    page = client.get(path, headers=BROWSER)
    assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert f"<h1>{problem.title}</h1>" in page.text
    assert f"<code>{code}</code>" in page.text
    assert "`" not in page.text
    assert Markup(page.text).offences == []
    assert LIST in Markup(page.text).addresses
    text = client.get(path, headers=TEXT)
    assert (text.status_code, text["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert text.text.startswith(f"{code} ({problem.status})\n\n{problem.title}.\n{problem.meaning}\n")


@pytest.mark.parametrize("code", AGAIN)
def test_the_page_says_whether_to_send_the_request_again(code: str, client: Client) -> None:
    for headers in (BROWSER, TEXT):
        assert AGAIN[code] in client.get(f"{LIST}{code}", headers=headers).text


def test_the_list_leads_to_every_problem(client: Client) -> None:
    page = client.get(LIST, headers=BROWSER)
    assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert {f"{LIST}{code}" for code in PROBLEMS} <= set(Markup(page.text).addresses)
    lines = client.get(LIST, headers=TEXT).text.splitlines()
    assert [line.strip() for line in lines if "http" in line] == [
        type_url(code) for code in sorted(PROBLEMS, key=lambda code: PROBLEMS[code].status)
    ]


def test_the_pages_name_no_other_format_and_no_other_problem(client: Client) -> None:
    assert_problem(client.get(f"{LIST}nothing", headers=BROWSER), "not_found")
    assert_problem(client.get(f"{LIST}not_found/", headers=BROWSER), "not_found")
    assert_problem(client.get(LIST, headers={"Accept": "image/png"}), "not_acceptable")
    for accept in ("*/*", "application/problem+json"):
        page = client.get(f"{LIST}not_found", headers={"Accept": accept})
        assert (page.status_code, page["Content-Type"]) == (200, "text/html; charset=utf-8")
