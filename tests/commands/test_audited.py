"""What a command does is in the audit log, just like what is done in the console."""

import getpass
from datetime import timedelta
from io import StringIO
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from orders.access import api_tokens
from orders.models import AuditEntry, BulkAction, OrderProcess, SetAside
from tests.commands.running import make_alert, run
from tests.support.factories import ago, make_order

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2")]

BURNT = {"mix": "completed", "heat-oven": "completed", "bake": "failed"}
ME = f"operator:{getpass.getuser()}"


def failed_order() -> OrderProcess:
    order = make_order(BURNT, process_state="error")
    make_alert(order.order_id)
    return order


def entry(act: str) -> AuditEntry:
    """The only entry in the audit log."""
    row = AuditEntry.objects.get()
    assert (row.act, row.allowed, row.ip_address) == (act, True, "")
    return row


def test_a_resubmission_is_recorded_with_what_it_changed() -> None:
    order = failed_order()
    run("resubmit", order.order_id, "--step", "bake", "--reason", "fixed the oven")
    recorded = entry("resubmit")
    assert (recorded.actor, recorded.target, recorded.reason) == (
        ME,
        f"order {order.order_id}",
        "fixed the oven",
    )
    assert recorded.result == "Resubmitted bake."
    assert (recorded.before["state"], recorded.after["state"]) == ("error", "pending")
    assert (recorded.before["bake"]["state"], recorded.after["bake"]["state"]) == ("failed", "not_started")


def test_a_resubmission_of_many_is_recorded_as_its_bulk_action() -> None:
    for _ in range(2):
        failed_order()
    run("resubmit", "--all", "--code", "too_hot", "--agent", "oven", "--by", "eve", "--yes")
    action = BulkAction.objects.get()
    assert list(AuditEntry.objects.values_list("actor", "act", "target")) == [
        ("eve", "bulk resubmit", f"bulk {action.pk}")
    ]


def test_a_compensation_is_recorded_with_its_reason() -> None:
    order = make_order({"mix": "completed"}, process_state="processed")
    run("compensate", order.order_id, "--reason", "wrong cake")
    recorded = entry("compensate")
    assert (recorded.actor, recorded.target, recorded.reason) == (ME, f"order {order.order_id}", "wrong cake")
    assert (recorded.before["goal"], recorded.after["goal"]) == ("complete", "compensate")


@pytest.mark.parametrize("is_all", [False, True])
def test_a_replay_is_recorded(is_all: bool) -> None:
    submission = SetAside.objects.create(
        order_id=UUID(int=1), client="guest", body={}, reason="no such cake", posted_at=ago(9)
    )
    run("set_aside", "replay", *(["--all", "--yes"] if is_all else [submission.pk]))
    recorded = entry("replay")
    assert (recorded.actor, recorded.target) == (ME, f"submission {submission.pk}")
    assert recorded.result == f"Order {submission.order_id} is back on the submission queue."


def test_creating_and_revoking_tokens_is_recorded_without_the_token() -> None:
    User.objects.create_user("olga")
    out = StringIO()
    call_command("token", "olga", stdout=out)
    call_command("token", "olga", "--revoke", stdout=StringIO())
    creation, revocation = AuditEntry.objects.order_by("id")
    assert (creation.actor, creation.act, creation.target, creation.result) == (
        ME,
        "token create",
        "olga",
        f"created an API token for read until {timezone.now() + timedelta(days=90):%Y-%m-%d}",
    )
    beginning = out.getvalue()[: api_tokens.BEGINNING]
    assert (creation.before, creation.after) == (None, {"token": f"{beginning}…", "scopes": ["read"]})
    assert (revocation.actor, revocation.act, revocation.result) == (
        *(ME, "token revoke", "revoked every API token"),
    )
    assert revocation.before == {"tokens": 1}
    assert out.getvalue()[: api_tokens.BEGINNING + 1] not in str([vars(creation), vars(revocation)])


def test_a_command_about_an_unknown_order_is_not_recorded() -> None:
    assert run("resubmit", UUID(int=9)).code == 2
    assert run("compensate", UUID(int=9), "--reason", "why").code == 2
    assert not AuditEntry.objects.exists()
