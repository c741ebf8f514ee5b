"""What Prometheus collects: every figure of the system, in so many statements, each by an index."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orders.engine.runtime.sql import database_now
from orders.metrics.families import describe, read_metrics
from orders.models import (
    AgentInstance,
    AgentTally,
    BulkAction,
    BulkItem,
    Circuit,
    LeaderLease,
    OutgoingMessage,
    RoleInstance,
)
from orders.models.figures import BUCKETS
from orders.selectors.desk.gauges import read_gauges
from tests.support.factories import ago, ahead, make_alert, make_order, make_request, step_of

LES = ("0.005", "0.05", "0.1", "30.0", "+Inf")

pytestmark = pytest.mark.django_db


def collect() -> dict[str, dict[tuple[str, ...], float]]:
    """The metrics as Prometheus reads them: values by their labels, by name."""
    families = text_string_to_metric_families(read_metrics().decode())
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in families
    }


def test_an_empty_system_has_every_metric_and_all_its_roles_are_missing() -> None:
    metrics = collect()
    assert metrics["sasweb_role_instances"]["scheduler", "alive"] == 0
    assert metrics["sasweb_orders"] == {("pending",): 0, ("processing",): 0, ("error",): 0}
    assert metrics["sasweb_queue_oldest_age_seconds"]["orders",] == 0
    assert "sasweb_supervisor_last_sweep_age_seconds" not in metrics


def test_each_figure_is_that_of_the_database() -> None:
    failed = make_order({"mix": "failed"}, process_state="error")
    make_alert(failed.order_id)
    late = make_order({"mix": "running"}, process_state="processing", complete_by=ago(30))
    make_request(step_of(late, "mix"), posted_at=ago(70))
    make_order({"mix": "not_started"}, process_state="pending", created_at=ago(50))
    Circuit.objects.create(agent="oven", state="open", probe_at=ahead(9), paused=True)
    AgentInstance.objects.create(agent="oven", instance="agents:1", capacity=9, in_flight=4)
    LeaderLease.objects.create(
        name="supervisor", holder="s", expires_at=ahead(9), swept_at=ago(3), last_sweep={"found": 2}
    )
    RoleInstance.objects.create(instance="scheduler:1", role="scheduler", seen_at=ago(2), release="0.9.1")
    RoleInstance.objects.create(instance="scheduler:2", role="scheduler", seen_at=ago(300))
    OutgoingMessage.objects.create(
        kind="sign_up", recipient="ada@example.com", state="failed", give_up_at=ago(1), ended_at=ago(1)
    )
    action = BulkAction.objects.create(kind="resubmit", selection="all", by="olga", starts_at=ago(5), total=1)
    BulkItem.objects.create(action=action, position=0, order_id=failed.order_id)

    metrics = collect()
    assert metrics["sasweb_orders"] == {("pending",): 1, ("processing",): 1, ("error",): 1}
    assert metrics["sasweb_steps"]["error",] == metrics["sasweb_alerts_open"]["step_failed",] == 1
    assert metrics["sasweb_queue_depth"]["requests",] == metrics["sasweb_queue_depth"]["orders",] == 1
    assert 70 <= metrics["sasweb_queue_oldest_age_seconds"]["requests",] < 600
    assert 50 <= metrics["sasweb_queue_oldest_age_seconds"]["orders",] < 600
    assert (
        metrics["sasweb_agent_circuit_state"]["oven", "open"] == metrics["sasweb_agent_paused"]["oven",] == 1
    )
    assert metrics["sasweb_agent_circuit_state"]["oven", "closed"] == 0
    assert metrics["sasweb_agent_calls_in_flight"]["oven",] == 4
    assert metrics["sasweb_agent_requests_waiting"]["kitchen",] == 1
    assert 3 <= metrics["sasweb_supervisor_last_sweep_age_seconds"][()] < 600
    assert metrics["sasweb_supervisor_last_sweep_orders"]["found",] == 2
    assert metrics["sasweb_supervisor_overdue_orders"][()] == 1
    assert metrics["sasweb_role_instances"]["scheduler", "alive"] == 1
    assert metrics["sasweb_role_instances"]["scheduler", "silent"] == 1
    assert metrics["sasweb_role_release_instances"] == {("0.9.1", "scheduler"): 1}
    assert 2 <= metrics["sasweb_role_heartbeat_age_seconds"]["scheduler",] < 300
    assert metrics["sasweb_outbox_failed_messages"][()] == metrics["sasweb_bulk_actions"]["running",] == 1
    assert metrics["sasweb_bulk_action_orders_waiting"][()] == 1


def test_calls_are_a_histogram_for_each_agent_and_outcome() -> None:
    """Of the stored buckets each call is in one; Prometheus' include the smaller ones."""
    buckets = [0] * BUCKETS
    buckets[0], buckets[4], buckets[-1] = 3, 2, 1
    AgentTally.objects.create(agent="oven", outcome="timeout", calls=6, buckets=buckets, seconds=33.5)
    text = read_metrics().decode()
    name, labels = "sasweb_agent_call_duration_seconds", 'agent="oven",outcome="timeout"'
    samples = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith(name))
    assert len(samples) == BUCKETS + 2
    shown = [float(samples[f'{name}_bucket{{agent="oven",le="{le}",outcome="timeout"}}']) for le in LES]
    assert shown == [3, 3, 5, 5, 6]
    assert (samples[f"{name}_count{{{labels}}}"], samples[f"{name}_sum{{{labels}}}"]) == ("6.0", "33.5")


def test_every_metric_is_explained_and_names_its_unit() -> None:
    for family in describe(read_gauges(now=database_now())):
        assert family.name.startswith("sasweb_")
        assert family.documentation.endswith("."), family.name
        assert ("age" in family.name.split("_")) <= family.name.endswith("_seconds"), family.name
