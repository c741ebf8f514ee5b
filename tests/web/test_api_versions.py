"""Versions of the API: which one answers, and what is said of one that goes. The second version is made up."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.access import api_versions
from orders.access.api_versions import VERSIONS, Version
from orders.models import ApiToken, AuditEntry, SubmissionMessage
from tests.support.order_bodies import order_body
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import ORDERS, assert_problem
from tests.web.places import UNKNOWN

pytestmark = pytest.mark.django_db

DEPRECATED = datetime(2026, 1, 1, tzinfo=UTC)
NEW = Version(name="2027-03-01", changes="Amounts are texts.")
OLD = Version(
    name="2026-11-26",
    changes="The first.",
    deprecated_at=DEPRECATED,
    ends_at=datetime(2126, 1, 1, tzinfo=UTC),
)
GOING = {"Deprecation", "Sunset", "Link"}


@pytest.fixture(autouse=True)
def one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_versions, "VERSIONS", (Version(name=OLD.name, changes="The first."),))


@pytest.fixture
def two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_versions, "VERSIONS", (OLD, NEW))


@pytest.fixture
def ended_version(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Version(name=OLD.name, changes="", deprecated_at=DEPRECATED, ends_at=datetime.now(UTC))
    monkeypatch.setattr(api_versions, "VERSIONS", (ended, NEW))


def ask(client: APIClient, version: str) -> Any:
    return client.get(ORDERS, headers={"API-Version": version})


def test_each_answer_says_which_version_answered(ada: APIClient, anybody: APIClient) -> None:
    for response in (ada.get(ORDERS), anybody.get(ORDERS), ada.get("/api/v1/nothing"), ada.put(ORDERS)):
        assert response["API-Version"] == "2026-11-26"
        assert not GOING & set(response.headers)
    assert anybody.get("/api/v1/products")["API-Version"] == "2026-11-26"
    assert "API-Version" not in anybody.get("/api/schema/").headers


def test_a_token_is_pinned_to_the_version_that_was_the_newest_when_it_was_created(
    ada: APIClient, two_versions: None
) -> None:
    assert ada.get(ORDERS)["API-Version"] == OLD.name
    later = api_client(token_of(ada.user))
    assert later.get(ORDERS)["API-Version"] == NEW.name
    assert ask(later, OLD.name)["API-Version"] == OLD.name
    assert ask(ada, NEW.name)["API-Version"] == NEW.name


def test_a_version_that_goes_says_so_in_each_answer(ada: APIClient, two_versions: None) -> None:
    for response in (ada.get(ORDERS), ada.get(f"{ORDERS}/{UNKNOWN}"), ada.post(ORDERS, order_body())):
        assert response["Deprecation"] == "@1767225600"
        assert response["Sunset"] == "Tue, 01 Jan 2126 00:00:00 GMT"
        assert response["Link"].endswith('/api/docs/>; rel="sunset"; type="text/html"')
        assert 'rel="deprecation"' in response["Link"]
    assert not GOING & set(ask(ada, NEW.name).headers)


@pytest.mark.parametrize("name", ["2026-11-27", "newest", "", "2026-11-26,2027-03-01", "é"])
def test_a_version_that_does_not_exist_is_refused_with_those_that_do(
    ada: APIClient, anybody: APIClient, two_versions: None, name: str
) -> None:
    problem = assert_problem(ask(ada, name), "unsupported_version")
    assert problem["detail"].endswith("Send API-Version with one of these: 2026-11-26, 2027-03-01.")
    assert_problem(anybody.get("/api/v1/products", headers={"API-Version": name}), "unsupported_version")
    refused = ada.post(ORDERS, order_body(), headers={"API-Version": name})
    assert_problem(refused, "unsupported_version")
    assert not SubmissionMessage.objects.exists()


def test_a_version_that_has_ended_does_nothing_for_its_tokens_until_they_name_another(
    ada: APIClient, ended_version: None
) -> None:
    problem = assert_problem(ada.post(ORDERS, order_body()), "unsupported_version")
    assert problem["detail"] == (
        "The version that the token is pinned to has ended. Send API-Version with one of these: 2027-03-01."
    )
    assert_problem(ask(ada, OLD.name), "unsupported_version")
    assert not SubmissionMessage.objects.exists()
    assert ask(ada, NEW.name).status_code == 200
    ApiToken.objects.update(version=NEW.name)
    assert ada.post(ORDERS, order_body()).status_code == 202


def test_what_has_no_versions_takes_any(anybody: APIClient) -> None:
    for path in ("/api/schema/", "/api/problems/not_found"):
        assert anybody.get(path, headers={"API-Version": "none"}).status_code == 200


def test_the_date_at_which_a_version_ends_decides() -> None:
    assert OLD.ends_at is not None
    assert not OLD.has_ended(OLD.ends_at - timedelta(seconds=1))
    assert OLD.has_ended(OLD.ends_at)
    assert not NEW.has_ended(OLD.ends_at)


def test_the_newest_version_stays_and_each_has_a_later_date() -> None:
    names = [version.name for version in VERSIONS]
    assert names == sorted({date.fromisoformat(name).isoformat() for name in names})
    assert all(version.changes for version in VERSIONS)
    newest = VERSIONS[-1]
    assert (newest.deprecated_at, newest.ends_at) == (None, None)
    assert ApiToken._meta.get_field("version").db_default in names


# --- pinned in the console


def test_a_token_is_pinned_to_another_version_in_the_console(two_versions: None) -> None:
    olga = person("operator", "olga")
    token_of(olga)
    token, client = ApiToken.objects.get(), signed_in(olga)
    assert f"<option selected>{NEW.name}</option>" in client.get("/console/tokens/").text
    done = client.post(f"/console/tokens/{token.pk}/pin/", {"version": OLD.name}, follow=True)
    assert f"Version {OLD.name} answers the token {token} from now on." in done.text
    assert ApiToken.objects.get().version == OLD.name
    entry = AuditEntry.objects.get()
    assert (entry.act, entry.target, entry.result) == (
        "token pin",
        "olga",
        "pinned an API token to 2026-11-26",
    )
    refused = client.post(f"/console/tokens/{token.pk}/pin/", {"version": "2000-01-01"}, follow=True)
    assert "stays as it is: the versions of the API are 2026-11-26, 2027-03-01." in refused.text
    assert ApiToken.objects.get().version == OLD.name


def test_nobody_pins_the_token_of_somebody_else(client: Client, two_versions: None) -> None:
    token_of(person("operator", "olga"))
    token = ApiToken.objects.get()
    pia = signed_in(person("operator", "pia"))
    assert pia.post(f"/console/tokens/{token.pk}/pin/", {"version": OLD.name}).status_code == 404
    assert ApiToken.objects.get().version == NEW.name


def test_one_version_leaves_nothing_to_choose() -> None:
    olga = person("operator", "olga")
    token_of(olga)
    page = signed_in(olga).get("/console/tokens/").text
    assert "2026-11-26" in page
    assert 'name="version"' not in page
