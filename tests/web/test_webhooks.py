"""Clients make and keep their webhooks by the API: each her own, and secrets are shown once."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.core import serializers
from django.urls import reverse
from rest_framework.test import APIClient

from orders.api import webhook_urls
from orders.fields.numbers import LARGEST_ID
from orders.models import WebhookDelivery, WebhookEndpoint
from orders.vocabulary import EventKind, TokenScope
from sasweb.webhook_signatures import read_secret, signed_headers
from tests.support.client_webhooks import make_deliveries, make_endpoint
from tests.support.factories import ago
from tests.support.people import api_client, token_of
from tests.support.webhook import LOOPBACK, Webhook, webhook
from tests.web.conftest import Limits
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db

WEBHOOKS = "/api/v1/webhooks"
URL = "https://receiver.example/hook"


@pytest.fixture
def hook(settings: Any) -> Iterator[Webhook]:
    settings.CONFIG = replace(settings.CONFIG, client_webhook_networks=LOOPBACK)
    with webhook() as receiver:
        yield receiver


def created(client: APIClient, **body: Any) -> dict[str, Any]:
    """A new webhook."""
    response = client.post(WEBHOOKS, {"url": URL, **body})
    assert response.status_code == 201, response.content
    return response.json()


def place_of(endpoint: dict[str, Any] | WebhookEndpoint) -> str:
    number = endpoint["id"] if isinstance(endpoint, dict) else endpoint.pk
    return f"{WEBHOOKS}/{number}"


def test_a_webhook_is_created_read_changed_and_deleted(ada: APIClient) -> None:
    response = ada.post(WEBHOOKS, {"url": URL, "kinds": ["error", "processed", "error"]})
    body = response.json()
    secret = body.pop("secret")
    assert response.headers["Location"] == place_of(body)
    assert len(read_secret(secret)) == 32
    assert (body["url"], body["kinds"]) == (URL, ["processed", "error"])
    assert (body["disabled_at"], body["disabled_reason"], body["failing_since"]) == (None, None, None)
    assert ada.get(place_of(body)).json() == body
    assert ada.get(WEBHOOKS).json() == {"results": [body]}
    changed = ada.patch(place_of(body), {"kinds": []}).json()
    assert changed == {**body, "kinds": []}
    moved = ada.patch(place_of(body), {"url": f"{URL}/2"}).json()
    assert moved == {**changed, "url": f"{URL}/2"}
    assert ada.patch(place_of(body), {}).json() == moved
    make_deliveries(WebhookEndpoint.objects.get(), uuid4(), 2)
    assert (ada.delete(place_of(body)).status_code, WebhookDelivery.objects.count()) == (204, 0)
    assert_problem(ada.get(place_of(body)), "not_found")


@pytest.mark.parametrize(
    "url",
    [
        *("http://receiver.example/", "https://127.0.0.1/", "https://[::1]/", "https://0x7f.1/", "https://10.0.0.8/"),
        *("https://169.254.169.254/latest", "https://", "https://:443/", "https://host:0/", "https://[::1/"),
        *("https://ada:pw@receiver.example/", "https://receiver.example/#here"),
        *("ftp://receiver.example/", "receiver.example", "https://a b/", f"https://{'a' * 500}/", "", 7, None),
    ],
)  # fmt: skip
def test_a_url_that_may_not_be_called_is_refused(ada: APIClient, url: object) -> None:
    endpoint = created(ada)
    assert mistakes(ada.post(WEBHOOKS, {"url": url})) == ["/url"]
    assert mistakes(ada.patch(place_of(endpoint), {"url": url})) == ["/url"]
    assert WebhookEndpoint.objects.get().url == URL


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://:443/", "no host"),
        ("https://[::1/", "no host"),
        ("https://host:0/", "from 1 to 65535"),
        ("https://host:99999/", "from 1 to 65535"),
        ("https://ada:pw@receiver.example/", "a password"),
        ("https://receiver.example/#here", "a fragment"),
        ("http://receiver.example/", "https://"),
        ("https://10.0.0.8/", "public"),
    ],
)
def test_it_is_said_why_a_url_may_not_be_called(ada: APIClient, url: str, reason: str) -> None:
    (error,) = ada.post(WEBHOOKS, {"url": url}).json()["errors"]
    assert error["pointer"] == "/url"
    assert reason in error["detail"]


def test_a_scheme_may_be_written_in_capitals(ada: APIClient) -> None:
    assert created(ada, url="HTTPS://Receiver.Example/Hook")["url"] == "HTTPS://Receiver.Example/Hook"
    assert mistakes(ada.post(WEBHOOKS, {"url": "HTTP://receiver.example/"})) == ["/url"]


def test_what_else_is_wrong_is_named(ada: APIClient) -> None:
    assert mistakes(ada.post(WEBHOOKS, {})) == ["/url"]
    assert mistakes(ada.post(WEBHOOKS, {"url": URL, "kinds": ["error", "no"]})) == ["/kinds/1"]
    assert mistakes(ada.post(WEBHOOKS, {"url": URL, "kinds": "error"})) == ["/kinds"]
    assert mistakes(ada.post(WEBHOOKS, {"url": URL, "secret": "mine"})) == ["/secret"]
    endpoint = created(ada)
    for since in ("yesterday", "2026-02-30T00:00:00Z", "2026-02-03T00:00:00", 7, None):
        assert mistakes(ada.post(f"{place_of(endpoint)}/redeliver", {"since": since})) == ["/since"]
    assert mistakes(ada.get(f"{place_of(endpoint)}/deliveries", {"state": "lost"})) == ["state"]


def test_a_client_has_ten_webhooks_at_most(ada: APIClient, bob: APIClient) -> None:
    for _ in range(10):
        created(ada)
    assert_problem(ada.post(WEBHOOKS, {"url": URL}), "too_many_webhooks")
    created(bob)


def test_a_webhook_is_nobody_elses(ada: APIClient, bob: APIClient) -> None:
    endpoint = make_endpoint(ada.user, URL)
    (delivery,) = make_deliveries(endpoint, uuid4(), 1)
    before = WebhookEndpoint.objects.values().get(), WebhookDelivery.objects.values().get()
    tried = 0
    for pattern in webhook_urls.urlpatterns:
        names = pattern.pattern.converters
        if not names:
            continue
        path = reverse(
            f"api:{pattern.name}", kwargs={**dict.fromkeys(names, delivery), "webhook_id": endpoint.pk}
        )
        for method in ("get", "post", "patch", "delete"):
            if hasattr(pattern.callback.view_class, method):
                assert_problem(
                    getattr(bob, method)(path, {} if method == "get" else {"url": URL}), "not_found"
                )
                tried += 1
    assert tried == 9
    assert bob.get(WEBHOOKS).json() == {"results": []}
    assert before == (WebhookEndpoint.objects.values().get(), WebhookDelivery.objects.values().get())


def test_a_token_that_only_reads_changes_nothing(ada: APIClient) -> None:
    reader = api_client(token_of(ada.user, TokenScope.READ))
    endpoint = created(ada)
    assert reader.get(place_of(endpoint)).status_code == 200
    assert reader.get(f"{place_of(endpoint)}/deliveries").status_code == 200
    for method, path in (
        ("post", WEBHOOKS),
        ("patch", place_of(endpoint)),
        ("delete", place_of(endpoint)),
        *(("post", f"{place_of(endpoint)}/{act}") for act in ("secret", "test", "enable", "redeliver")),
    ):
        assert_problem(getattr(reader, method)(path, {"url": URL}), "scope_missing")


def test_a_dump_has_no_secret(ada: APIClient) -> None:
    endpoint = created(ada)
    rotated = ada.post(f"{place_of(endpoint)}/secret").json()
    dump = serializers.serialize("json", WebhookEndpoint.objects.all())
    for secret in (endpoint["secret"], rotated["secret"]):
        assert secret.removeprefix("whsec_") not in dump
    assert dump.count("sealed:") == 2


def test_a_rotated_secret_is_shown_once_and_the_one_before_it_is_valid_for_a_day(ada: APIClient) -> None:
    endpoint = created(ada)
    rotated = ada.post(f"{place_of(endpoint)}/secret").json()
    assert rotated["secret"] != endpoint["secret"]
    read = ada.get(place_of(endpoint)).json()
    assert read["previous_secret_until"] == rotated["previous_secret_until"] > read["created_at"]
    assert "secret" not in read


def test_a_test_shows_what_the_receiver_answered(ada: APIClient, hook: Webhook) -> None:
    endpoint = created(ada, url=hook.url)
    hook.status, hook.answer = 418, "I am a teapot\x00é".encode()
    answer = ada.post(f"{place_of(endpoint)}/test").json()
    assert (answer["status"], answer["answer"]) == (418, "I am a teapot\ufffdé")
    assert answer["error"] == "127.0.0.1 answered 418"
    (message,), (headers,), (body,) = hook.received, hook.headers, hook.bodies
    assert (message["type"], message["data"]) == ("webhook.test", {"webhook_id": endpoint["id"]})
    signed = signed_headers(
        headers["webhook-id"],
        body=body,
        timestamp=int(headers["webhook-timestamp"]),
        signing_secrets=[read_secret(endpoint["secret"])],
    )
    assert signed.items() <= headers.items()
    assert signed.items() <= answer["headers"].items()
    hook.status = 200
    assert ada.post(f"{place_of(endpoint)}/test").json()["error"] == ""
    assert WebhookDelivery.objects.count() == 0


def test_tests_are_limited_by_account(ada: APIClient, hook: Webhook, only: Limits) -> None:
    endpoint = created(ada, url=hook.url)
    only(webhook_tests__account=2)
    for _ in range(2):
        assert ada.post(f"{place_of(endpoint)}/test").status_code == 200
    assert_problem(ada.post(f"{place_of(endpoint)}/test"), "rate_limited")


def test_deliveries_are_listed_with_their_attempts(ada: APIClient) -> None:
    endpoint, order_id = make_endpoint(ada.user, URL), uuid4()
    entry = {
        "at": "2026-11-20T12:00:00+00:00",
        "seconds": 0.25,
        "headers": {"webhook-id": "evt_0"},
        "status": 503,
        "answer": "later",
        "error": "receiver.example answered 503",
    }
    first, second = make_deliveries(endpoint, order_id, 2, log=[entry], attempts=1)
    newest, oldest = ada.get(f"{place_of(endpoint)}/deliveries").json()["results"]
    assert (newest["id"], oldest["id"]) == (second, first)
    assert (oldest["order_id"], oldest["kind"], oldest["state"]) == (str(order_id), "step_started", "queued")
    assert oldest["log"] == [{**entry, "at": "2026-11-20T12:00:00Z"}]
    assert oldest["next_attempt_at"] is not None and newest["next_attempt_at"] is None
    assert oldest["body"] == WebhookDelivery.objects.get(pk=first).body
    WebhookDelivery.objects.filter(pk=first).update(state="delivered", due_at=None, delivered_at=ago(1))

    def ids(**query: Any) -> list[int]:
        page = ada.get(f"{place_of(endpoint)}/deliveries", query).json()
        return [delivery["id"] for delivery in page["results"]]

    assert (ids(state="undelivered"), ids(state="delivered"), ids()) == ([second], [first], [second, first])
    page = ada.get(f"{place_of(endpoint)}/deliveries", {"page_size": 1}).json()
    assert [delivery["id"] for delivery in ada.get(page["next"]).json()["results"]] == [first]


def test_a_message_or_all_since_a_time_are_queued_again(ada: APIClient) -> None:
    endpoint = make_endpoint(ada.user, URL)
    ids = make_deliveries(endpoint, uuid4(), 3)
    WebhookDelivery.objects.update(state="delivered", due_at=None, delivered_at=ago(1))
    response = ada.post(f"{place_of(endpoint)}/deliveries/{ids[1]}/redeliver")
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    assert WebhookDelivery.objects.filter(state="queued").get().pk == ids[1]
    response = ada.post(f"{place_of(endpoint)}/redeliver", {"since": ago(60).isoformat()})
    assert (response.status_code, response.json()) == (202, {"queued": 3})
    assert WebhookDelivery.objects.filter(due_at__isnull=False).get().pk == ids[0]
    nothing = ada.post(f"{place_of(endpoint)}/redeliver", {"since": ago(-60).isoformat()})
    assert nothing.json() == {"queued": 0}
    for number in (0, LARGEST_ID, LARGEST_ID + 1):
        assert_problem(ada.post(f"{place_of(endpoint)}/deliveries/{number}/redeliver"), "not_found")


def test_a_disabled_webhook_says_why_and_is_enabled(ada: APIClient) -> None:
    endpoint = make_endpoint(ada.user, URL, disabled_at=ago(9), disabled_reason="gone", failing_since=ago(99))
    assert ada.get(place_of(endpoint)).json()["disabled_reason"] == "gone"
    for _ in range(2):
        enabled = ada.post(f"{place_of(endpoint)}/enable").json()
        assert (enabled["disabled_at"], enabled["disabled_reason"], enabled["failing_since"]) == (
            None,
            None,
            None,
        )


def test_every_kind_of_change_can_be_chosen(ada: APIClient) -> None:
    assert created(ada, kinds=list(EventKind))["kinds"] == list(EventKind)
    assert mistakes(ada.post(WEBHOOKS, {"url": URL, "kinds": [*EventKind, "error"]})) == ["/kinds"]
