"""Figures over time in the console and the API: both say what the tables say, and gaps are gaps."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.engine.figures.minutes import MINUTE, start_of_minute, write_tallies
from orders.engine.runtime.sql import database_now
from orders.models import AgentFigures, AgentInstance, AgentTally, AuditEntry, OrderFigures, OrderProcess
from orders.models.figures import BUCKETS
from orders.selectors.desk.figures import RANGES
from tests.support.factories import ago, ahead, make_alert, make_order
from tests.support.people import api_client, person, token_of
from tests.support.written_minutes import write_minute
from tests.web.console_orders import in_error
from tests.web.helpers import assert_problem

pytestmark = pytest.mark.django_db

API = "/api/v1/figures"
CONSOLE = "/console"
SPOKEN = {
    "1h": ("1 h", "The last hour"),
    "8h": ("8 h", "The last 8 hours"),
    "24h": ("24 h", "The last 24 hours"),
    "7d": ("7 d", "The last 7 days"),
    "30d": ("30 d", "The last 30 days"),
}
"""Each range as its link shows it, and as it is read out."""


@pytest.fixture
def viewer() -> APIClient:
    return api_client(token_of(person("viewer")))


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(person("operator"))
    return client


def minutes(*back: int) -> list[datetime]:
    this = start_of_minute(database_now())
    return [this - number * MINUTE for number in back]


def steps_with_figures(answer: Any) -> list[dict[str, Any]]:
    return [step for step in answer["steps"] if step["counts"] is not None]


def test_the_figures_are_those_of_the_rows_they_come_from(viewer: APIClient) -> None:
    first, second = minutes(3, 1)
    for began, orders in ((first, 3), (second, 2)):
        for number in range(orders):
            at = began + timedelta(seconds=number)
            make_order(process_state="processed", created_at=at, finished_at=at)
        make_alert(make_order(process_state="error", created_at=began).pk, opened_at=began)
        write_minute(began)
    answer = viewer.get(f"{API}/orders").json()
    measured = steps_with_figures(answer)
    assert len(answer["steps"]) == 60
    assert len(measured) == 2
    for step in measured:
        began = datetime.fromisoformat(step["began"])
        of_minute = {"gte": began, "lt": began + MINUTE}
        finished = OrderProcess.objects.filter(**{f"finished_at__{how}": at for how, at in of_minute.items()})
        created = OrderProcess.objects.filter(**{f"created_at__{how}": at for how, at in of_minute.items()})
        assert step["counts"]["processed"] == finished.count()
        assert step["counts"]["placed"] == created.count()
        assert step["counts"]["failed"] == 1


def test_what_was_not_measured_is_no_zero_in_page_and_api(viewer: APIClient, browser: Client) -> None:
    (began,) = minutes(1)
    write_minute(began)
    steps = viewer.get(f"{API}/orders").json()["steps"]
    assert [step["counts"] is None for step in steps] == [True] * 59 + [False]
    page = browser.get(f"{CONSOLE}/").content.decode()
    assert page.count("not measured</td>") == 59
    assert page.count("plot__gap") == 3


@pytest.mark.parametrize("name", RANGES)
def test_every_range_has_its_steps_and_is_in_the_url(name: str, viewer: APIClient, browser: Client) -> None:
    answer = viewer.get(f"{API}/orders", {"range": name}).json()
    length = datetime.fromisoformat(answer["until"]) - datetime.fromisoformat(answer["since"])
    assert (answer["range"], length) == (name, RANGES[name].length)
    assert len(answer["steps"]) * answer["step_seconds"] == length.total_seconds()
    for page in ("", "agents/"):
        text = browser.get(f"{CONSOLE}/{page}", {"range": name}).content.decode()
        assert f'href="?range={name}"' in text
        shown, spoken = SPOKEN[name]
        assert f'<span aria-hidden="true">{shown}</span><span class="unseen">{spoken}</span></a>' in text


def test_an_unknown_range_is_refused_by_the_api_and_the_page_shows_the_shortest(
    viewer: APIClient, browser: Client
) -> None:
    assert_problem(viewer.get(f"{API}/orders", {"range": "2h"}), "validation_failed")
    assert browser.get(f"{CONSOLE}/", {"range": "2h"}).context["figures"].range.name == "1h"


def test_hours_are_added_up_into_longer_steps(viewer: APIClient) -> None:
    hour = database_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    (minute,) = minutes(1)
    write_minute(minute)
    for back in range(3):
        row = OrderFigures.objects.get(span="minute")
        row.pk, row.span, row.began, row.placed = None, "hour", hour - back * timedelta(hours=1), 5
        row.save()
    by_hour = steps_with_figures(viewer.get(f"{API}/orders", {"range": "7d"}).json())
    assert [step["counts"]["placed"] for step in by_hour] == [5, 5, 5]
    by_six = steps_with_figures(viewer.get(f"{API}/orders", {"range": "30d"}).json())
    assert sum(step["counts"]["placed"] for step in by_six) == 15


def test_an_agents_figures_are_what_its_tally_grew_by_and_when_its_circuit_was_open(
    viewer: APIClient,
) -> None:
    AgentInstance.objects.create(instance="agents:1", agent="oven", capacity=1)
    tally = AgentTally.objects.create(
        agent="oven", outcome="ok", calls=100, buckets=[100] + [0] * (BUCKETS - 1), seconds=1
    )
    failed = AgentTally.objects.create(
        agent="oven", outcome="timeout", calls=0, buckets=[0] * BUCKETS, seconds=0
    )
    before, between, last = minutes(3, 2, 1)
    write_minute(last)
    write_tallies(before)
    tally.calls, tally.buckets = 107, [107] + [0] * (BUCKETS - 1)
    tally.save()
    write_tallies(between)
    failed.calls, failed.buckets = 2, [0] * (BUCKETS - 1) + [2]
    failed.save()
    write_tallies(last)
    make_alert(
        None,
        kind="outage",
        agent="oven",
        code="down",
        opened_at=between + MINUTE / 2,
        closed_at=last + MINUTE / 4,
    )
    (answer,) = viewer.get(f"{API}/agents").json()["results"]
    *_, first, second = answer["steps"]
    assert (first["counts"]["calls"], first["counts"]["failed"], first["open_seconds"]) == (7, 0, 30)
    assert (second["counts"]["calls"], second["counts"]["failed"], second["open_seconds"]) == (2, 2, 15)
    assert (second["counts"]["p50"], len(answer["outages"])) == (30.0, 1)
    assert steps_with_figures(answer) == [first, second]  # before the first reading nothing is known


def test_a_missing_reading_is_a_gap_although_the_tally_grew(viewer: APIClient) -> None:
    AgentInstance.objects.create(instance="agents:1", agent="oven", capacity=1)
    AgentTally.objects.create(
        agent="oven", outcome="ok", calls=1, buckets=[1] + [0] * (BUCKETS - 1), seconds=1
    )
    for began in minutes(4, 2):
        write_tallies(began)
    assert AgentFigures.objects.count() == 2
    (answer,) = viewer.get(f"{API}/agents").json()["results"]
    assert steps_with_figures(answer) == []


def test_a_cause_has_a_line_of_the_alerts_that_opened(viewer: APIClient, browser: Client) -> None:
    (began,) = minutes(2)
    alerts = [make_alert(make_order(process_state="error").pk, opened_at=began) for _ in range(3)]
    write_minute(began)
    (answer,) = viewer.get(f"{API}/causes").json()["results"]
    assert [step["opened"] for step in answer["steps"] if step["opened"] is not None] == [3]
    for page in ("alerts/", f"alerts/{alerts[0].group_id}/"):
        text = browser.get(f"{CONSOLE}/{page}").content.decode()
        assert 'aria-label="3 alerts opened in the last 24 hours"' in text


def test_the_funnel_says_where_orders_are_for_how_long_and_where_they_were_lost(
    viewer: APIClient, browser: Client
) -> None:
    for age in (10, 20, 600):
        make_order({"mix": {"state": "running", "complete_by": ahead(60), "started_at": ago(age)}})
    make_order({"mix": {"state": "failed", "started_at": ago(5)}}, process_state="error")
    make_order(
        {"mix": "compensated", "bake": "failed"},
        process_state="compensated",
        goal="compensate",
        finished_at=ago(60),
    )
    results = {step["step"]: step for step in viewer.get(f"{API}/steps").json()["results"]}
    mix, bake = results["mix"], results["bake"]
    assert (mix["here"], mix["failed"], mix["cancelled"]) == (4, 1, 0)
    assert mix["median_seconds"] == pytest.approx(15, abs=5)
    assert mix["oldest_seconds"] == pytest.approx(600, abs=10)
    assert (bake["here"], bake["cancelled"]) == (0, 1)
    assert (
        "Where orders are, and where they were lost" in browser.get(f"{CONSOLE}/workflow/").content.decode()
    )


def test_a_circuit_that_an_operator_forced_open_was_open_until_then_and_counts_once_beside_an_outage(
    viewer: APIClient, browser: Client
) -> None:
    began, middle, last = minutes(30, 20, 10)
    until = last + timedelta(minutes=30)
    for at, state, forced_until in (
        (began - timedelta(hours=2), "open", began + MINUTE),
        (began + 5 * MINUTE, "open", middle + timedelta(hours=1)),
        (middle, "", None),
        (middle + 2 * MINUTE, "closed", until),
        (last, "open", until),
    ):
        ends = forced_until.isoformat() if forced_until else None
        AuditEntry.objects.create(
            actor="olga",
            act="force",
            target="agent oven",
            at=at,
            after={"forced": state, "forced_until": ends},
        )
    AuditEntry.objects.create(actor="olga", act="force", target="agent oven", at=middle, allowed=False)
    AuditEntry.objects.create(
        actor="olga",
        act="force",
        target="agent mail",
        at=began,
        after={"forced": "open", "forced_until": None},
    )
    AgentInstance.objects.create(instance="agents:1", agent="oven", capacity=1)
    make_alert(
        None,
        kind="outage",
        agent="oven",
        code="down",
        opened_at=middle - 2 * MINUTE,
        closed_at=middle + MINUTE,
    )
    (answer,) = viewer.get(f"{API}/agents").json()["results"]
    times = [tuple(map(datetime.fromisoformat, (each["began"], each["ended"]))) for each in answer["outages"]]
    since, end = datetime.fromisoformat(answer["since"]), datetime.fromisoformat(answer["until"])
    assert times == [(since, began + MINUTE), (began + 5 * MINUTE, middle + MINUTE), (last, end)]
    assert sum(step["open_seconds"] for step in answer["steps"]) == sum(
        (ended - first).total_seconds() for first, ended in times
    )
    assert browser.get(f"{CONSOLE}/agents/").content.decode().count('class="plot__band"') == 6


def test_an_agent_without_measured_calls_says_so_in_place_of_empty_charts(browser: Client) -> None:
    AgentInstance.objects.create(
        instance="agents:1", agent="oven", capacity=1, recent_calls=41, recent_failures=3
    )
    page = browser.get(f"{CONSOLE}/agents/").content.decode()
    assert "No full minute was measured in this period." in page
    assert "of 41 in the last minute" in page
    assert 'data-label="Calls in the last minute">41</td>' in page
    assert '<caption class="unseen">Calls of oven over time</caption>' in page
    assert "<h3>Call time</h3>" not in page


def test_a_workflow_without_orders_has_no_empty_funnel(browser: Client) -> None:
    nothing = "No order is at any of its steps, and none was cancelled in the last 24 hours."
    assert nothing in browser.get(f"{CONSOLE}/workflow/").content.decode()
    in_error()
    page = browser.get(f"{CONSOLE}/workflow/").content.decode()
    assert page.count('<caption class="unseen">Orders at each step of fulfil-order, version ') == 1


def test_the_overview_has_one_chart_of_orders_processed(browser: Client) -> None:
    page = browser.get(f"{CONSOLE}/").content.decode()
    assert "Orders processed per minute" not in page
    assert page.count('<svg class="chart') == 3
