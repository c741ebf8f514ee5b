"""`POST /callbacks/{token}`: a remote service answers later, once, with nothing but the token it was given."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client

from orders.api import callbacks
from orders.engine.callbacks import issue_token
from orders.models import AgentReply, OrderProcess
from orders.services.answers import LARGEST_RESULT
from sasweb import logs
from sasweb.limits import Limit
from tests.support.factories import ago, ahead, make_order, step_of
from tests.support.roles import a_scheduler

pytestmark = pytest.mark.django_db

PENDING = {"state": "awaiting", "outcome": "unknown", "awaits": {"kind": "answer", "reference": "job-7"}}


@pytest.fixture
def order() -> OrderProcess:
    until = {"awaits_until": ahead(3_600), "sent_at": ago(9)}
    return make_order({"mix": PENDING | until, "heat-oven": "completed"}, not_before=ahead(9_000))


@pytest.fixture
def service() -> Client:
    """A remote service, which has no account and no cookie. Nothing but the API is exempt from CSRF checks."""
    return Client(enforce_csrf_checks=True)


def call_back(service: Client, order: OrderProcess, body: Any = None, *, token: str = "") -> HttpResponse:
    token = token or issue_token(f"{order.pk}/mix/1")
    data = body if isinstance(body, bytes) else json.dumps({"result": {"dough": 1}} if body is None else body)
    return service.post(f"/callbacks/{token}", data, content_type="application/json")


def assert_problem(response: HttpResponse, status: int, code: str) -> None:
    assert (response.status_code, response["Content-Type"]) == (status, "application/problem+json")
    assert json.loads(response.content)["code"] == code


@pytest.mark.pattern("C6", "A4")
def test_a_remote_service_completes_a_step_later(service: Client, order: OrderProcess) -> None:
    answered = call_back(service, order)
    assert (answered.status_code, answered.content) == (204, b"")
    a_scheduler().run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.result) == ("completed", {"dough": 1})


@pytest.mark.pattern("C7")
def test_a_remote_service_refuses_later(service: Client, order: OrderProcess) -> None:
    error = {"code": "no_eggs", "message": "the hens are on strike"}
    assert call_back(service, order, {"error": error}).status_code == 204
    a_scheduler().run_once()
    assert (step_of(order, "mix").outcome, step_of(order, "mix").error) == ("refused", error)


def test_a_token_outlives_the_key_that_signed_it_while_that_is_listed(
    service: Client, order: OrderProcess, settings: Any
) -> None:
    token = issue_token(f"{order.pk}/mix/1")
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, of 32 characters or more"
    assert call_back(service, order, token=token).status_code == 204
    settings.SECRET_KEY_FALLBACKS = []
    assert_problem(call_back(service, order, token=token), 404, "not_found")


def test_a_second_callback_is_told_that_it_was_answered(service: Client, order: OrderProcess) -> None:
    call_back(service, order)
    assert_problem(call_back(service, order), 409, "already_answered")
    assert AgentReply.objects.count() == 1


def test_a_late_callback_is_told_so(service: Client, order: OrderProcess) -> None:
    order.steps.filter(name="mix").update(complete_by=ago(1))
    assert_problem(call_back(service, order), 410, "too_late")


def test_a_stranger_learns_nothing(service: Client, order: OrderProcess) -> None:
    for token in ("x", f"{order.pk}", issue_token(f"{order.pk}/mix/1")[:-1] + "!", "a" * 2_000):
        assert_problem(call_back(service, order, token=token), 404, "not_found")
    assert not AgentReply.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        {},
        {"result": []},
        {"result": {}, "more": 1},
        {"error": {"message": "no code"}},
        {"result": {}, "error": {"code": "no"}},
        {"result": {"text": "\x00"}},
        {"result": {"text": "\ud800"}},
    ],
)
def test_a_body_that_says_nothing_is_refused(service: Client, order: OrderProcess, body: Any) -> None:
    assert call_back(service, order, body).status_code == 400
    assert not AgentReply.objects.exists()


def test_a_result_that_is_too_large_is_refused(service: Client, order: OrderProcess) -> None:
    assert_problem(
        call_back(service, order, {"result": {"text": "x" * LARGEST_RESULT}}), 413, "body_too_large"
    )
    assert_problem(call_back(service, order, b" " * 300_000), 413, "body_too_large")


def test_a_callback_is_posted(service: Client, order: OrderProcess) -> None:
    response = service.get(f"/callbacks/{issue_token(f'{order.pk}/mix/1')}")
    assert_problem(response, 405, "method_not_allowed")


@pytest.mark.parametrize("error", [OperationalError("the connection is lost"), ZeroDivisionError()])
def test_the_token_is_not_logged(
    service: Client, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_: Any) -> None:
        raise error

    monkeypatch.setattr(callbacks, "answer_callback", fail)
    token = issue_token("018f0000-0000-7000-8000-000000000000/mix/1")
    answer = service.post(f"/callbacks/{token}", {"result": {}}, content_type="application/json")
    assert answer.status_code in (500, 503)
    lines = [logs.formatter().format(record) for record in caplog.records]
    assert any("/callbacks/…" in line for line in lines)
    assert not any(token in line for line in lines)


def test_callbacks_of_one_address_are_limited(service: Client, order: OrderProcess, settings: Any) -> None:
    limits = {"callbacks.address": Limit(most=2, seconds=600)}
    settings.CONFIG = replace(settings.CONFIG, limits=limits)
    codes = [call_back(service, order, token="x").status_code for _ in range(3)]
    assert codes == [404, 404, 429]
