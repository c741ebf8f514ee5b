"""What is done by command is in the audit log as what is done in the console is."""

import getpass
from io import StringIO
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

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
    """The only entry there is."""
    found = AuditEntry.objects.get()
    assert (found.act, found.allowed, found.ip_address) == (act, True, "")
    return found


def test_a_resubmission_is_recorded_with_what_it_changed() -> None:
    order = failed_order()
    run("resubmit", order.order_id, "--step", "bake", "--reason", "fixed the oven")
    done = entry("resubmit")
    assert (done.actor, done.target, done.reason) == (ME, f"order {order.order_id}", "fixed the oven")
    assert done.result == "Resubmitted bake."
    assert (done.before["state"], done.after["state"]) == ("error", "pending")
    assert (done.before["bake"]["state"], done.after["bake"]["state"]) == ("failed", "not_started")


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
    done = entry("compensate")
    assert (done.actor, done.target, done.reason) == (ME, f"order {order.order_id}", "wrong cake")
    assert (done.before["goal"], done.after["goal"]) == ("complete", "compensate")


@pytest.mark.parametrize("is_all", [False, True])
def test_a_replay_is_recorded(is_all: bool) -> None:
    kept = SetAside.objects.create(
        order_id=UUID(int=1), client="guest", body={}, reason="no such cake", posted_at=ago(9)
    )
    run("set_aside", "replay", *(["--all", "--yes"] if is_all else [kept.pk]))
    done = entry("replay")
    assert (done.actor, done.target) == (ME, f"submission {kept.pk}")
    assert done.result == f"Order {kept.order_id} is back on the submission queue."


def test_creating_and_revoking_tokens_is_recorded_without_the_token() -> None:
    User.objects.create_user("olga")
    out = StringIO()
    call_command("token", "olga", stdout=out)
    call_command("token", "olga", "--revoke", stdout=StringIO())
    made, ended = AuditEntry.objects.order_by("id")
    assert (made.actor, made.act, made.target, made.result) == (
        ME,
        "token-make",
        "olga",
        "created an API token",
    )
    assert (made.before, made.after) == ({"tokens": 0}, {"tokens": 1})
    assert (ended.actor, ended.act, ended.result) == (ME, "token-revoke", "1 token revoked")
    assert (ended.before, ended.after) == ({"tokens": 1}, {"tokens": 0})
    assert out.getvalue().strip()[:8] not in str([vars(made), vars(ended)])


def test_a_command_about_an_unknown_order_is_not_recorded() -> None:
    assert run("resubmit", UUID(int=9)).code == 2
    assert run("compensate", UUID(int=9), "--reason", "why").code == 2
    assert not AuditEntry.objects.exists()
