"""The processes of each role, on the console's page, over REST and in the terminal: what is missing stands out."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from orders.models import AgentInstance, LeaderLease, RoleInstance
from orders.selectors.database_clock import now
from orders.selectors.desk.processes import ROLES, read_roles
from orders.wording.processes import show_roles
from tests.commands.running import run
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.people import api_client, person, signed_in, token_of

pytestmark = pytest.mark.django_db
PAGE = "/console/processes/"


def alive(role: str, number: int = 1, **fields: Any) -> RoleInstance:
    values = {"role": role, "seen_at": ago(2), "progressed_at": ago(1)} | fields
    return RoleInstance.objects.create(instance=f"{role}:{number}", **values)


def everything_runs() -> None:
    for role in ROLES:
        alive(role)


def concerns() -> dict[str, list[str]]:
    return {
        role.status.name: list(role.concerns) for role in show_roles(read_roles(now=now())) if role.concerns
    }


def viewer() -> User:
    return User.objects.filter(username="viewer").first() or person("viewer")


def text_of_page() -> str:
    return " ".join(signed_in(viewer()).get(PAGE).content.decode().split())


def results() -> dict[str, Any]:
    answer = api_client(token_of(viewer())).get("/api/v1/processes")
    return {role["name"]: role for role in answer.json()["results"]}


def test_while_every_role_has_a_live_process_nothing_is_wrong() -> None:
    everything_runs()
    assert concerns() == {}
    assert run("processes").code == 0
    text = text_of_page()
    assert text.count("1 alive") == len(ROLES)
    assert "none alive" not in text and "silent" not in text
    assert "the next one takes over about every minute" in text, "its start is not taken for a crash"


def test_a_role_without_a_live_process_stands_out_everywhere_and_says_what_to_start() -> None:
    everything_runs()
    RoleInstance.objects.filter(role="scheduler").update(seen_at=ago(130))
    sentence = "No scheduler is running: orders do not move on. Start manage.py run_scheduler."
    assert sentence in text_of_page() and "none alive" in text_of_page()
    assert results()["scheduler"]["is_missing"] is True
    assert results()["scheduler"]["concerns"][0].startswith(f"{sentence} The last one was heard from 2 min")
    ran = run("processes")
    assert (ran.code, sentence in ran.words) == (1, True)
    assert json.loads(run("processes", "--json").out)[2]["is_missing"] is True


def test_a_silent_process_beside_live_ones_is_a_warning() -> None:
    everything_runs()
    alive("agents", 2, seen_at=ago(40))
    (sentence,) = concerns()["agents"]
    assert sentence.startswith("1 process has sent no heartbeat for more than 15 s: it hangs or was killed.")
    assert run("processes").code == 0
    assert "40 s ago, SILENT" in run("processes").words or "41 s ago, SILENT" in run("processes").words


def test_processes_of_two_releases_and_those_in_trouble_are_named() -> None:
    everything_runs()
    alive("scheduler", 2, versions=[["bake-cake", 4, "abc"]], troubles=[{"kind": "stalled", "code": "slow"}])
    assert concerns() == {
        "scheduler": [
            "1 process reports that something is wrong: see Alerts.",
            "Its processes run different versions of workflows: an upgrade is under way, or has stopped halfway.",
        ]
    }
    text = text_of_page()
    assert "bake-cake v4" in text and "<span>slow</span>" in text
    versions = [process["versions"] for process in results()["scheduler"]["processes"]]
    assert [{"workflow": "bake-cake", "version": 4, "fingerprint": "abc"}] in versions


def test_the_web_that_does_not_watch_is_only_a_warning() -> None:
    everything_runs()
    RoleInstance.objects.filter(role="web").delete()
    assert concerns() == {
        "web": ["No web process reports that it watches the others: it has just started, or WATCHDOG is off."]
    }
    assert run("processes").code == 0


def test_each_process_shows_what_it_holds_and_each_role_what_waits_for_it() -> None:
    everything_runs()
    LeaderLease.objects.create(
        name="supervisor", holder="supervisor:1", term=3, expires_at=ahead(60), swept_at=ago(1)
    )
    order = make_order(
        {"mix": "running"}, process_state="processing", complete_by=ahead(600), locked_by="scheduler:1"
    )
    make_request(step_of(order, "mix"), leased_by="agents:1", leased_until=ahead(60))
    waiting = make_order(
        {"mix": "running"}, process_state="processing", complete_by=ahead(600), locked_by="gone"
    )
    make_request(step_of(waiting, "mix"), posted_at=ago(70))
    make_order({"mix": "not_started"}, created_at=ago(3_700))
    AgentInstance.objects.create(agent="kitchen", instance="agents:1", capacity=200, in_flight=12)
    roles = results()
    (host,), (scheduler,) = roles["agents"]["processes"], roles["scheduler"]["processes"]
    assert (host["agents"], host["requests"], host["in_flight"], host["capacity"]) == (
        ["kitchen"],
        1,
        12,
        200,
    )
    assert (scheduler["orders"], scheduler["leads"]) == (1, False)
    assert roles["supervisor"]["processes"][0]["leads"] is True
    assert [(backlog["name"], backlog["depth"]) for backlog in roles["scheduler"]["backlogs"]] == [
        ("orders", 1),
        ("replies", 0),
    ]
    text = text_of_page()
    assert "1 request, 12 of 200 calls under way" in text
    assert "the supervisor’s lease" in text
    assert "1 order waits to go on, the oldest for 1 h 1 min." in text
    assert "1 request waits, the oldest for 1 min 1" in text
    assert "No order is overdue." in text and "No reply waits." in text


def test_while_a_deployment_is_under_way_what_still_runs_the_old_release_is_counted() -> None:
    for role in ROLES:
        alive(role, release="0.9.2", started_at=ago(60))
    assert "still run" not in text_of_page()
    alive("agents", 2, release="0.9.1", started_at=ago(7_200))
    alive("scheduler", 2, release="0.9.1", started_at=ago(3_600))
    alive("scheduler", 3, release="0.8.0", started_at=ago(9_000))
    alive("scheduler", 4, release="0.7.0", seen_at=ago(40))  # it no longer counts
    sentence = "2 of 8 processes still run 0.9.1: agents (1), scheduler (1). The newest is 0.9.2."
    assert sentence in text_of_page()
    assert "1 of 8 processes still runs 0.8.0: scheduler (1). The newest is 0.9.2." in text_of_page()
    assert "0.7.0:" not in text_of_page()
    assert sentence in run("processes").words
    answer = api_client(token_of(viewer())).get("/api/v1/processes").json()
    assert [(each["name"], each["number"]) for each in answer["releases"]] == [
        ("0.9.2", 5),
        ("0.9.1", 2),
        ("0.8.0", 1),
    ]
    assert {process["release"] for process in results()["agents"]["processes"]} == {"0.9.1", "0.9.2"}


def test_a_process_from_before_releases_were_recorded_is_an_old_one() -> None:
    everything_runs()
    RoleInstance.objects.exclude(role="web").update(release="0.9.2", started_at=ago(5))
    RoleInstance.objects.filter(role="web").update(started_at=ago(90))
    words = "1 of 5 processes still runs a release from before releases were recorded: web (1). The newest is 0.9.2."
    assert words in text_of_page()
