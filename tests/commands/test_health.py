"""`agents`, `supervisor` and `alerts`: how the system is doing; suitable as monitoring checks."""

import os
import re
import subprocess
from urllib.parse import urlencode

import pytest
from django.db import connection

from orders.models import AgentInstance, Alert, LeaderLease
from tests.commands.running import make_alert, queries, run, short
from tests.support import prefork
from tests.support.factories import ago, ahead, make_order, make_request, step_of

pytestmark = pytest.mark.django_db

SHOP_AGENTS = ("warehouse", "payments", "carrier", "mail")


def alive(agent: str, seconds: float = 2.0, **fields: object) -> None:
    reported = {"instance": "agents:test", "capacity": 10, "seen_at": ago(seconds)}
    AgentInstance.objects.create(agent=agent, **(reported | fields))


def test_agents_with_nothing_reported_says_so() -> None:
    ran = run("agents")
    assert ran.code == 0, "no order needs an agent"
    assert "no agent has reported" in ran.out and "no requests are waiting" in ran.out
    for agent in SHOP_AGENTS:
        assert f"! {agent} has no live instance; no order needs it now" in ran.out


@pytest.mark.pattern("A9")
def test_agents_shows_each_instance_and_marks_the_stale() -> None:
    alive("oven", in_flight=3, calls=1_200, failed_calls=30, mean_seconds=0.2, p95_seconds=0.25)
    alive("oven", 3_670, instance="agents:lost")
    ran = run("agents")
    shown = r"oven agents:test [0-9.]+ s ago 3 10 1,200 30 \(2 %\) 250 ms"
    assert re.fullmatch(shown, ran.line_with("agents:test"))
    assert ran.line_with("agents:lost") == "oven agents:lost 1 h 1 min ago, STALE 0 10 0 0 –"
    assert "CALLS and FAILED are since the process started; a declined call has not failed." in ran.out
    assert "P95 is of the last minute." in ran.out


def test_agents_shows_the_queue() -> None:
    for number in range(3):
        order = make_order({"mix": "running"}, process_state="processing")
        leased = {"leased_by": "agents:test", "leased_until": ahead(300)} if number else {}
        make_request(step_of(order, "mix"), posted_at=ago(70 + number), **leased)
    alive("kitchen")
    # The seconds are not exact, because a busy machine takes a while to get here.
    assert re.search("REQUESTS FOR WAITING OLDEST IN HAND kitchen 1 1 min 1[0-9] s 2", run("agents").words)


def test_agents_fails_when_orders_need_an_agent_that_nobody_runs() -> None:
    make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_order({"mix": "completed"}, process_state="processed")
    for agent in ("oven", "courier", "post", *SHOP_AGENTS):
        alive(agent)
    alive("kitchen", 16)
    ran = run("agents")
    assert ran.code == 1
    assert [line for line in ran.out.splitlines() if line.startswith("!")] == [
        "! kitchen has no live instance; 1 order under way needs it"
    ]
    alive("kitchen", instance="agents:second")
    assert run("agents").code == 0


def test_agents_counts_in_json_too() -> None:
    alive("oven")
    report = run("agents", "--json").json()
    assert report["instances"][0]["alive"] is True
    assert report["missing"] == dict.fromkeys(sorted(SHOP_AGENTS), 0)


def lease(**fields: object) -> None:
    defaults = {"holder": "supervisor:test", "term": 4, "expires_at": ahead(3_700), "swept_at": ago(2)}
    report = {"found": 3, "recovered": 2, "escalated": 1}
    LeaderLease.objects.create(name="supervisor", last_sweep=report, **(defaults | fields))


@pytest.mark.pattern("V6")
def test_supervisor_shows_who_leads_and_what_the_last_sweep_did() -> None:
    lease()
    ran = run("supervisor")
    assert ran.code == 0
    assert "leader supervisor:test, lease for another 1 h 1 min term 4" in ran.words
    swept = r"last sweep [0-9.]+ s ago: 3 found, 2 recovered, 1 escalated overdue nothing"
    assert re.search(swept, ran.words)


@pytest.mark.parametrize(("seconds", "code"), [(2, 0), (21, 1)])
def test_supervisor_fails_as_a_check_when_sweeps_are_late(seconds: float, code: int) -> None:
    lease(swept_at=ago(seconds))
    ran = run("supervisor")
    assert ran.code == code
    assert ("LATE" in ran.out) is bool(code)
    assert run("supervisor", "--json").json()["late"] is bool(code)


def test_supervisor_that_never_ran_is_late() -> None:
    ran = run("supervisor")
    assert ran.code == 1
    assert "leader nobody term 0 last sweep never overdue nothing LATE" in ran.words


def test_supervisor_says_when_the_lease_lapsed() -> None:
    lease(expires_at=ago(3_670))
    assert "leader nobody; the last lease lapsed 1 h 1 min ago" in run("supervisor").words


def test_supervisor_counts_what_is_overdue_now() -> None:
    lease()
    make_order(
        {"mix": {"state": "running", "complete_by": ago(3_670)}, "heat-oven": "running"},
        process_state="processing",
        complete_by=ago(5),
    )
    make_order({"mix": "running"}, process_state="processing", complete_by=ago(9))
    assert "overdue 2 orders, 1 step; the longest by 1 h 1 min" in run("supervisor").words


def test_no_alerts_says_so() -> None:
    assert run("alerts").out == "no open alerts\n"


@pytest.mark.pattern("O1")
def test_alerts_are_grouped_by_their_cause() -> None:
    burnt = [make_order(), make_order(), make_order()]
    for number, order in enumerate(burnt):
        make_alert(order.order_id, message=f"burnt {number}", opened_at=ago(10_990 - 3_600 * number))
    late = make_order()
    make_alert(late.order_id, agent="courier", code="too_hot", message="melted")
    closed = make_order()
    make_alert(closed.order_id, closed_at=ago(1), closed_by="eve", resolution="resubmitted")
    ran = run("alerts")
    assert ran.code == 0
    assert "3 orders: a step failed for good – oven: too_hot" in ran.out
    assert "seen first 3 h 3 min ago, last 1 h 3 min ago" in ran.words
    assert "pattern burnt … message burnt 2 (the newest)" in ran.words
    assert f"orders {' '.join(short(order.order_id) for order in reversed(burnt))} to do" in ran.words
    group = Alert.objects.get(order_id=burnt[0].order_id).group_id
    assert f"manage.py resubmit --all --group {group}\n" in ran.out
    assert ran.out.index("oven: too_hot") < ran.out.index("courier: too_hot"), "the largest group first"
    assert ran.out.splitlines()[-1] == "4 open alerts of 2 causes"
    assert short(closed.order_id) not in ran.out


def test_all_alerts_include_closed_alerts_and_who_closed_them() -> None:
    order = make_order()
    make_alert(order.order_id, closed_at=ago(1), closed_by="eve", resolution="resubmitted")
    ran = run("alerts", "--all")
    assert "0 open, 1 closed: a step failed for good – oven: too_hot" in ran.out
    assert "closed 1 resubmitted by eve" in ran.words
    assert ran.out.splitlines()[-1] == "no open alerts, 1 closed"


def test_a_large_group_names_some_orders_and_json_all() -> None:
    for _ in range(15):
        make_alert(make_order().order_id)
    ran = run("alerts")
    assert "and 3 more" in ran.words and max(map(len, ran.out.splitlines())) <= 100
    (group,) = run("alerts", "--json").json()["groups"]
    assert len(group["orders"]) == group["open"] == 15


@pytest.mark.parametrize(
    ("command", "number"), [("agents", 6), ("supervisor", 5), ("alerts", 6), ("set_aside", 1)]
)
def test_the_number_of_queries_is_fixed(command: str, number: int) -> None:
    lease()
    make_alert(make_order().order_id)
    before = queries(command)
    for agent in range(5):
        alive(f"agent-{agent}")
        order = make_order({"mix": "running"}, process_state="processing", complete_by=ago(1))
        make_request(step_of(order, "mix"))
        make_alert(order.order_id)
    assert queries(command) == before == number


UNREACHABLE = (
    r"the database cannot be reached: .+\. Is bin/up running with this VAR_DIR, or is DATABASE_URL right\?\n"
)


def in_a_shell(*command: str, database: str) -> subprocess.CompletedProcess[str]:
    return prefork.complete("manage.py", *command, env={**os.environ, "DATABASE_URL": database})


@pytest.mark.parametrize(
    "command", [("orders",), ("resubmit", "--all", "--code", "x"), ("supervisor", "--json")]
)
def test_a_database_that_cannot_be_reached_is_one_clear_line(command: tuple[str, ...]) -> None:
    ended = in_a_shell(*command, database="postgresql://nobody@127.0.0.1:1/none")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert re.fullmatch(UNREACHABLE, ended.stderr)


def test_migrating_a_database_that_cannot_be_reached_is_one_clear_line() -> None:
    ended = in_a_shell("migrate", database="postgresql://nobody@127.0.0.1:1/none")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert re.fullmatch(f"CommandError: {UNREACHABLE}", ended.stderr)


def test_a_database_without_our_tables_is_one_clear_line() -> None:
    own = connection.settings_dict
    login = {"user": own["USER"], "password": own["PASSWORD"], "host": own["HOST"], "port": own["PORT"]}
    credentials = {name: value for name, value in login.items() if value}
    ended = in_a_shell("orders", database=f"postgresql:///postgres?{urlencode(credentials)}")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "the database has not been migrated: run manage.py migrate\n"
