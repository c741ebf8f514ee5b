"""`alerts` and `agents` while a remote service is down: they count the waiting steps and suggest no resubmission."""

import pytest

from orders.models import AgentInstance, Circuit
from tests.commands.running import make_alert, run
from tests.support import factories
from tests.support.factories import ago, ahead, make_order

pytestmark = pytest.mark.django_db


def waiting_order() -> None:
    make_order({"mix": {"state": "not_started", "waiting_since": ago(60)}}, process_state="processing")


def outage(code: str = "http_503") -> None:
    for _ in range(3):
        waiting_order()
    factories.make_alert(None, kind="outage", agent="kitchen", code=code, message="no answer")


def circuit(**fields: object) -> None:
    """Times are given in seconds from now."""
    times = {
        name: ahead(value)
        for name, value in fields.items()
        if name.endswith(("_at", "_until")) and isinstance(value, int)
    }
    Circuit.objects.create(agent="kitchen", **(fields | times))
    for agent in ("kitchen", "oven"):
        AgentInstance.objects.create(agent=agent, instance="agents:test", capacity=4, seen_at=ago(1))


@pytest.mark.pattern("O1", "A8")
def test_alerts_says_what_waits_in_an_outage_and_that_nothing_needs_resubmitting() -> None:
    outage()
    ran = run("alerts")
    assert ran.out.startswith("outage, 3 steps waiting: a remote service is not answering")
    assert (
        "to do nothing to resubmit; waiting steps continue automatically when the agent is back" in ran.words
    )
    assert "--all" not in ran.out and "1 order" not in ran.out and "orders " not in ran.out
    assert max(map(len, ran.out.splitlines())) <= 100
    assert run("alerts", "--json").json()["waiting"] == {"kitchen": 3}


@pytest.mark.pattern("O1", "A8")
def test_alerts_says_how_to_start_an_agent_that_nobody_runs() -> None:
    outage(code="no_host")
    assert (
        "to do start manage.py run_agents kitchen; waiting steps continue automatically"
        in run("alerts").words
    )


def test_a_recommended_command_can_be_pasted_whatever_code_a_remote_service_gives() -> None:
    alert = make_alert(make_order().order_id, code="no; rm -rf x")
    lines = [line.strip() for line in run("alerts").out.splitlines() if "manage.py" in line]
    assert lines == [f"manage.py resubmit --all --group {alert.group_id}"]


def test_a_cause_that_resubmitting_alone_may_not_mend_says_so_and_what_helps() -> None:
    alert = make_alert(make_order().order_id, code="http_422")
    words = run("alerts").words
    assert (
        "edit the step and resubmit, or cancel the order. Resubmitting alone helps only if oven was wrong and has "
        "fixed it. To resubmit all" in words
    )
    assert f"To resubmit all as they are, run manage.py resubmit --all --group {alert.group_id}" in words


def test_what_to_do_about_a_refusal_of_the_shops_services_is_said_once() -> None:
    make_alert(make_order().order_id, code="refused", agent="carrier")
    assert (
        "to do Ask the service’s operators why. If our data is wrong, edit it and resubmit, or cancel the order. "
        "Resubmitting alone helps only if carrier was wrong and has fixed it. To resubmit all as they are, run"
    ) in run("alerts").words


def test_what_to_do_about_an_expired_key_is_said_once() -> None:
    make_alert(make_order().order_id, code="key_expired", agent="carrier")
    assert (
        "to do Look the order up at the service, and settle the step as done or not done. "
        "Resubmitting does not help before the step is settled. To resubmit all as they are, run"
    ) in run("alerts").words


def test_an_alert_about_no_order_says_first_what_it_is_about() -> None:
    factories.make_alert(
        None, kind="late", code="deadlines", agent="oven", message="2 orders", subject="oven"
    )
    head = run("alerts").out.splitlines()[0]
    assert head == "orders will be late at the current pace – oven: deadlines; no order is in Error"


def test_a_step_that_waits_for_its_agent_says_so_instead_of_not_started() -> None:
    order = make_order({"mix": {"state": "not_started", "attempt": 8, "waiting_since": ago(9)}})
    assert "mix kitchen waiting for agent 8 1" in run("order", order.order_id).words


@pytest.mark.pattern("A8", "A9")
@pytest.mark.parametrize(
    ("fields", "state", "why", "held"),
    [
        (
            {"state": "open", "opened_at": -600, "probe_at": 600},
            "down",
            "http_503 no answer, for 10 min",
            "The agent kitchen is down",
        ),
        (
            {"state": "half_open", "opened_at": -600, "probe_at": 600},
            "being tried",
            "a try is under way and counts as lost in",
            "The agent kitchen is being tried",
        ),
        (
            {"forced": "open", "forced_until": 600, "held_by": "eve", "held_reason": "moving"},
            "sent nothing, forced",
            "forced by eve, for another",
            "The agent kitchen is sent nothing, forced",
        ),
        (
            {"paused": True, "held_by": "eve", "held_reason": "moving"},
            "working, paused",
            "paused by eve: moving",
            "The agent kitchen was paused by eve",
        ),
    ],
)
def test_agents_shows_a_circuit_that_is_not_closed_and_fails_as_a_check(
    fields: dict[str, object], state: str, why: str, held: str
) -> None:
    waiting_order()
    circuit(cause_code="http_503", cause_message="no answer", **fields)
    ran = run("agents")
    assert ran.code == 1
    assert f"kitchen {state} 1 " in ran.words and why in ran.words
    assert f"! {held}; 1 step is waiting for it." in ran.words
    (shown,) = (row for row in run("agents", "--json").json()["circuits"] if row["agent"] == "kitchen")
    assert (shown["waiting"], shown["lets_calls_through"]) == (1, False)


@pytest.mark.pattern("A8")
def test_agents_shows_when_an_open_circuit_is_probed() -> None:
    circuit(state="open", opened_at=-600, probe_at=3_900)
    assert "next try in 1 h" in run("agents").words
    Circuit.objects.update(probe_at=ago(1))
    assert "a try is due" in run("agents").words


@pytest.mark.pattern("A8")
def test_agents_succeeds_when_all_circuits_are_closed() -> None:
    circuit(cause_code="http_503", opened_at=-600, closed_at=-500)
    ran = run("agents")
    assert ran.code == 0
    assert "kitchen working 0 –" in ran.words
