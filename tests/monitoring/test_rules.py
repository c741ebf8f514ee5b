"""What deploy/ has for Prometheus and Grafana: promtool finds no fault, and every metric that it names exists."""

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orders.metrics.families import read_metrics
from orders.models import AgentInstance, AgentTally, LeaderLease, RoleInstance, StepPause
from orders.models.figures import BUCKETS
from orders.vocabulary import CallOutcome
from tests.support.factories import ago, ahead

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "sasweb.rules.yml"
CASES = DEPLOY / "prometheus" / "sasweb.rules.test.yml"
DASHBOARD = json.loads((DEPLOY / "grafana" / "sasweb.json").read_text())
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")

with_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="there is no promtool: bin/test installs it, or apt-get install prometheus"
)
MATCHER = re.compile(r'(\w+)(?:=~|!=|=)"([^"$]+)"')
METRIC = re.compile(r"\bsasweb_\w+")


def promtool(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    assert PROMTOOL is not None
    return subprocess.run(
        [PROMTOOL, *map(str, arguments)], input=stdin, capture_output=True, timeout=60, check=False
    )


def expressions() -> Iterator[str]:
    """Every expression of the rules, their cases and the dashboard."""
    rules = RULES.read_text()
    yield from re.findall(r"^ +expr: (?!\|)(.+)$", rules, re.MULTILINE)
    yield from re.findall(r"^ +expr: \|\n((?: {10,}.+\n)+)", rules, re.MULTILINE)
    yield from re.findall(r"series: '([^']+)'", CASES.read_text())
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    yield from (variable["query"] for variable in DASHBOARD["templating"]["list"])


def the_metrics() -> bytes:
    """The output of a system that has something of everything."""
    LeaderLease.objects.create(name="supervisor", holder="s", expires_at=ahead(9), swept_at=ago(3))
    RoleInstance.objects.create(instance="scheduler:1", role="scheduler")
    for agent in ("carrier", "mail"):
        AgentInstance.objects.create(agent=agent, instance="agents:1", capacity=9)
    for outcome in CallOutcome:
        AgentTally.objects.create(agent="mail", outcome=outcome, calls=0, buckets=[0] * BUCKETS, seconds=0)
    StepPause.objects.create(workflow="fulfil-order", step="create-shipment", by="ada", reason="mould")
    return read_metrics()


@with_promtool
def test_the_rules_are_valid() -> None:
    done = promtool("check", "rules", RULES)
    assert (done.returncode, done.stderr) == (0, b"")


@with_promtool
def test_each_rule_fires_on_what_it_is_for_and_on_nothing_else() -> None:
    done = promtool("test", "rules", CASES)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_each_rule_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    rules = re.findall(r"- alert: (\w+)", RULES.read_text())
    quiet, firing = CASES.read_text().split("- name: everything is wrong")
    assert set(re.findall(r"alertname: (\w+)", quiet)) == set(rules)
    assert re.findall(r"alertname: (\w+)\n +exp_alerts:\n +- exp_labels", firing) == rules


@with_promtool
@pytest.mark.django_db
def test_the_metrics_keep_prometheus_conventions() -> None:
    done = promtool("check", "metrics", stdin=the_metrics())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.django_db
def test_every_metric_and_every_value_of_a_label_that_they_name_exists() -> None:
    samples: set[str] = {"sasweb"}  # of the job
    labels: dict[str, set[str]] = defaultdict(set, {"job": {"sasweb"}, "instance": {"a"}})
    for family in text_string_to_metric_families(the_metrics().decode()):
        for sample in family.samples:
            samples.add(sample.name)
            for label, value in sample.labels.items():
                labels[label].add(value)
    texts = list(expressions())
    assert len(texts) > 50
    assert {name for text in texts for name in METRIC.findall(text)} - samples == set()
    for text in texts:
        for label, values in MATCHER.findall(text):
            assert set(values.split("|")) <= labels[label], text


@pytest.mark.django_db
def test_rules_and_dashboard_use_every_metric_but_those_for_closer_looks() -> None:
    named = {name for text in expressions() for name in METRIC.findall(text)}
    exported = {family.name for family in text_string_to_metric_families(the_metrics().decode())}
    left_out = {name for name in exported if not any(other.startswith(name) for other in named)}
    assert left_out == {
        "sasweb_build_info",
        "sasweb_agent_requests_held",
        "sasweb_agent_oldest_request_age_seconds",
        "sasweb_agent_instances_quarantined",
        "sasweb_supervisor_has_leader",
        "sasweb_supervisor_lag_seconds",
        "sasweb_supervisor_last_sweep_orders",
        "sasweb_role_instances_in_trouble",
    }


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        covered = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert max(x for x, _ in covered) < 24
        assert not covered & cells, panel["title"]
        cells |= covered
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
