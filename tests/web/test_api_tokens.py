"""API tokens: what each scope lets them do, how long they live, and what ends them."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from rest_framework.test import APIClient

from orders.access import api_tokens
from orders.api.urls import version_1
from orders.engine.alerts import NewAlert, open_alerts
from orders.models import AlertGroup, ApiToken, AuditEntry, Circuit, SubmissionMessage
from orders.vocabulary import TokenScope
from tests.support.factories import ago, make_order, step_of
from tests.support.order_bodies import order_body
from tests.support.people import PASSWORD, QuickHasher, api_client, person, signed_in, token_of
from tests.web.helpers import ORDERS, assert_problem, place

pytestmark = pytest.mark.django_db

API = "/api/v1"
READ, ORDER, PRIORITY = TokenScope.READ, TokenScope.ORDERS, TokenScope.PRIORITY
OPERATE, COMPENSATE = TokenScope.OPERATE, TokenScope.COMPENSATE


def client_with(user: User, *scopes: TokenScope) -> APIClient:
    return api_client(token_of(user, *scopes))


def acts() -> dict[str, tuple[TokenScope, dict[str, str]]]:
    """The URL of every act of an operator, with the scope that it needs and a valid body."""
    order = make_order({"mix": "failed"}, process_state="error")
    open_alerts([NewAlert(order.order_id, "step_failed", "refused", "no flour", "mix", "kitchen")])
    Circuit.objects.create(agent="kitchen")
    step, group = step_of(order, "mix").pk, AlertGroup.objects.get().pk
    why = {"reason": "the oven was fixed"}
    return {
        f"{API}/steps/{step}/skip": (OPERATE, why),
        f"{API}/steps/{step}/resubmit": (OPERATE, why),
        f"{API}/agents/kitchen/pause": (OPERATE, why),
        f"{API}/agents/kitchen/resume": (OPERATE, why),
        f"{API}/alerts/groups/{group}/resubmit": (COMPENSATE, why),
        f"{API}/orders/{order.order_id}/compensate": (COMPENSATE, why | {"confirm": "cancel"}),
    }


# --- scopes


def test_a_token_without_scopes_reads_and_changes_nothing(ada: APIClient) -> None:
    order = place(ada, reply_to="shop")
    reader = client_with(ada.user, READ)
    for path in (ORDERS, f"{ORDERS}/{order['id']}", f"{API}/response-queues/shop/messages"):
        assert reader.get(path).status_code == 200
    refused = [
        reader.post(ORDERS, order_body()),
        reader.post(f"{ORDERS}/{order['id']}/cancel"),
        reader.delete(f"{API}/response-queues/shop/messages/1"),
    ]
    for response in refused:
        problem = assert_problem(response, "scope_missing")
        assert problem["needed_scope"] == "orders"
        assert problem["detail"] == (
            "This token has only the scope `read`. To place, pay for and cancel its account’s orders, and use its "
            "response queues and webhooks, create one with the scope `orders`: `manage.py token ada --scope orders`."
        )
    assert SubmissionMessage.objects.count() == 1


def test_an_act_of_an_operator_needs_its_scope_and_a_refusal_is_recorded() -> None:
    olga = person("operator", "olga")
    others = {scope: client_with(olga, *(set(TokenScope) - {scope})) for scope in (OPERATE, COMPENSATE)}
    places = acts()
    for path, (scope, body) in places.items():
        problem = assert_problem(others[scope].post(path, body), "scope_missing")
        assert problem["needed_scope"] == scope
    refusals = AuditEntry.objects.filter(allowed=False).values_list("actor", "result")
    assert sorted(refusals) == sorted(
        ("olga", f"needs a token with the scope {scope}") for scope, _ in places.values()
    )
    for path, (scope, body) in places.items():
        assert client_with(olga, scope).post(path, body).status_code != 403, path


def test_a_scope_gives_nothing_that_the_account_may_not_do() -> None:
    viewer = client_with(person("viewer"), *TokenScope)
    for path, (_, body) in acts().items():
        assert_problem(viewer.post(path, body), "permission_denied")


def test_every_view_that_acts_names_its_scope() -> None:
    views = [pattern.callback.cls for pattern in version_1]
    acting = [view for view in views if {"post", "put", "patch", "delete"} & set(dir(view))]
    assert len(acting) == 69
    assert [view for view in acting if getattr(view, "scope", READ) is READ] == []


@pytest.mark.parametrize("priority", [6, 9])
def test_only_a_token_with_the_right_overtakes_others(ada: APIClient, priority: int) -> None:
    ordinary = client_with(ada.user, ORDER)
    problem = assert_problem(ordinary.post(ORDERS, order_body(priority=priority)), "scope_missing")
    assert problem["needed_scope"] == "priority"
    assert "`manage.py token ada --scope orders priority`" in problem["detail"]
    assert not SubmissionMessage.objects.exists()
    for allowed in (0, 5):
        assert ordinary.post(ORDERS, order_body(priority=allowed)).status_code == 202
    entitled = client_with(ada.user, ORDER, PRIORITY)
    assert entitled.post(ORDERS, order_body(priority=priority)).status_code == 202


def test_not_even_an_operators_account_overtakes_others_without_the_scope(catalogue: None) -> None:
    admin = client_with(person("admin"), ORDER, OPERATE, COMPENSATE)
    assert_problem(admin.post(ORDERS, order_body(priority=6)), "scope_missing")


def test_the_api_description_says_which_scope_each_operation_needs() -> None:
    document = yaml.safe_load(APIClient().get("/api/schema/").content)
    scopes = {
        operation["operationId"]: operation.get("x-scope")
        for operations in document["paths"].values()
        for operation in operations.values()
    }
    assert {name for name, scope in scopes.items() if scope == "orders"} == {
        *("place_order", "place_orders", "quote_order", "cancel_order", "pay_for_order", "delete_message"),
        "correct_order",
        *("lease_messages", "acknowledge_messages", "release_messages"),
        *("create_webhook", "change_webhook", "delete_webhook", "rotate_webhook_secret", "test_webhook"),
        *("enable_webhook", "redeliver_webhook_delivery", "redeliver_webhook_deliveries"),
    }
    assert {name for name, scope in scopes.items() if scope == "compensate"} == {
        *("resubmit_alert_group", "compensate_order", "settle_step", "erase_customer"),
        *("create_bulk_action", "resume_bulk_action", "approve"),
    }
    assert {name for name, scope in scopes.items() if scope == "operate"} == {
        *("resubmit_step", "skip_step", "pause_agent", "resume_agent", "limit_agent"),
        *("decide", "report_event"),
        *(
            "resubmit_order",
            "retry_order",
            *("pause_order", "resume_order", "add_order_note"),
            "set_order_priority",
            "edit_step",
            "edit_order",
            "preview_order_edit",
            "replay_submission",
        ),
        *("acknowledge_alert_group", "reopen_alert_group", "add_alert_group_note"),
        *("take_alert_group", "assign_alert_group", "snooze_alert_group", "wake_alert_group"),
        *("link_alert_group_ticket", "write_runbook", "add_handover_note", "send_handover"),
        *("search_orders", "list_compensations", "list_set_aside", "get_order_details", "get_deadlines"),
        *("force_circuit", "unforce_circuit", "retry_outgoing_message"),
        *("list_views", "create_view", "change_view", "delete_view"),
        *(
            "pause_intake",
            "resume_intake",
            "pause_step",
            "resume_step",
            "rehearse_resubmission",
        ),
        *("ask_for_approval", "decline", "withdraw"),
        *("preview_bulk_action", "pause_bulk_action", "stop_bulk_action", "undo_bulk_action"),
    }
    assert {name for name, scope in scopes.items() if scope is None} == {
        *("list_products", "get_product", "answer_call")
    }
    place_order = document["paths"][ORDERS]["post"]
    assert "Needs a token with the scope `orders`." in place_order["description"]
    assert (
        "scope_missing" in place_order["responses"]["403"]["content"]["application/problem+json"]["examples"]
    )


# --- their life


def test_the_use_of_a_token_is_noted_once_a_minute(ada: APIClient) -> None:
    def used() -> Any:
        return ApiToken.objects.get(user=ada.user).last_used_at

    def writes() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert ada.get(ORDERS).status_code == 200
        return sum("orders_apitoken" in query["sql"] and "UPDATE" in query["sql"] for query in queries)

    assert used() is None
    assert [writes(), writes()] == [1, 0]
    first = used()
    assert timezone.now() - first < timedelta(minutes=1)
    ApiToken.objects.update(last_used_at=ago(61))
    assert writes() == 1
    assert used() > first


def test_of_two_requests_at_once_one_notes_the_use(ada: APIClient) -> None:
    token = ApiToken.objects.get(user=ada.user)
    now = timezone.now()
    api_tokens.note_use(token, now=now)
    api_tokens.note_use(token, now=now + timedelta(seconds=1))  # read before the first was written
    assert ApiToken.objects.get(user=ada.user).last_used_at == now


def test_a_token_has_256_bits_a_prefix_and_expires_after_90_days(ada: APIClient) -> None:
    assert ada.token.startswith("sas_")
    assert len(ada.token) == len("sas_") + 43
    row = ApiToken.objects.get(user=ada.user)
    assert row.digest not in ada.token
    assert row.expires_at - row.created_at > timedelta(days=89, hours=23)
    assert row.expires_at - row.created_at < timedelta(days=90, hours=1)
    for days in (0, 367):
        with pytest.raises(ValueError, match="1 to 366 days"):
            api_tokens.mint(ada.user, scopes=[], by="ada", days=days)


# --- what ends them


def with_password(name: str = "olga") -> tuple[User, APIClient]:
    user = person("operator", name, password=PASSWORD)
    return user, client_with(user)


def works(client: APIClient) -> bool:
    response = client.get(ORDERS)
    if response.status_code != 200:
        assert_problem(response, "invalid_token")
    return bool(response.status_code == 200)


def test_a_new_password_revokes_the_accounts_tokens_and_no_others() -> None:
    user, client = with_password()
    _, other = with_password("pia")
    user.set_password("eleven tall ships at dawn")
    user.save()
    assert not works(client)
    assert works(other)


def test_the_command_that_changes_a_password_revokes_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    _, client = with_password()
    monkeypatch.setattr("getpass.getpass", lambda *_args, **_kwargs: "eleven tall ships at dawn")
    call_command("changepassword", "olga", verbosity=0)
    assert not works(client)


def test_a_password_that_is_only_hashed_again_revokes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    user, client = with_password()
    before = user.password
    monkeypatch.setattr(QuickHasher, "time_cost", 2)
    assert user.check_password(PASSWORD)
    assert User.objects.get(pk=user.pk).password != before
    assert works(client)


@pytest.fixture
def root() -> Any:
    user = person("admin", "root")
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    return signed_in(User.objects.get(pk=user.pk))


@pytest.mark.parametrize("is_set", [True, False])
def test_a_password_that_is_set_or_taken_away_in_the_admin_site_revokes_tokens(
    root: Any, is_set: bool
) -> None:
    user, client = with_password()
    new = "eleven tall ships at dawn"
    form = {"password1": new, "password2": new, "usable_password": str(is_set).lower()}
    button = {"set-password" if is_set else "unset-password": "1"}
    assert root.post(f"/admin/auth/user/{user.pk}/password/", form | button).status_code == 302
    assert User.objects.get(pk=user.pk).has_usable_password() is is_set
    assert not works(client)


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_customers_new_password_revokes_tokens(is_lost: bool) -> None:
    """Whether she changes it, or has lost it and follows the link that was mailed to her."""
    user, client = with_password()
    new = "eleven tall ships at dawn"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    if is_lost:
        browser, key = Client(), urlsafe_base64_encode(force_bytes(user.pk))
        link = reverse("account:reset", args=[key, default_token_generator.make_token(user)])
        path = browser.get(link)["Location"]
    else:
        browser, path = signed_in(user), reverse("account:password")
    assert browser.post(path, form).status_code == 302
    assert User.objects.get(pk=user.pk).check_password(new)
    assert not works(client)


def test_a_second_factor_that_is_removed_takes_along_the_tokens_that_it_has_granted() -> None:
    user, granted = with_password()
    ordinary = client_with(user, ORDER, OPERATE)
    call_command("forget_second_factor", "olga", stdout=StringIO())
    assert not works(granted)
    assert works(ordinary)


def test_a_deactivated_accounts_tokens_do_not_come_back_with_it(root: Any) -> None:
    user, client = with_password()
    form = {
        "username": "olga",
        "email": user.email,
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    assert root.post(f"/admin/auth/user/{user.pk}/change/", form | {"is_active": "on"}).status_code == 302
    assert works(client)
    assert root.post(f"/admin/auth/user/{user.pk}/change/", form).status_code == 302
    assert not User.objects.get(pk=user.pk).is_active
    User.objects.update(is_active=True)
    assert not works(client)
