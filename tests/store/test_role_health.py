"""The health of the roles: one alert for each trouble, from whichever process, closed once none has it (rule 11)."""

from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from orders.engine.role_health import ALIVE, FORGOTTEN, NO_PROGRESS, PERIOD, RoleHealth, Trouble
from orders.engine.supervisor.version_watch import PATIENCE, VersionWatch
from orders.engine.supervisor.version_watch import PERIOD as LOOK
from orders.models import Alert, AlertGroup, RoleInstance
from orders.vocabulary import ActorKind, AlertKind
from tests.support.factories import ago, make_alert, make_order
from tests.support.workflows import CAKE, CAKES

pytestmark = pytest.mark.django_db
BROKEN = Trouble(AlertKind.RELEASE, "scheduler", "KeyError", "the scheduler has stopped: KeyError: 'frost'")


@pytest.fixture(autouse=True)
def nobody() -> None:
    """No process is listed: one that an earlier test killed may have left its row behind."""
    RoleInstance.objects.all().delete()


class Process:
    """A process of the scheduler, with a clock of its own."""

    def __init__(self, instance: str = "scheduler:a") -> None:
        self.now = 1_000.0
        self.troubles: list[Trouble] = []
        self.health = RoleHealth(
            role=ActorKind.SCHEDULER,
            instance=instance,
            troubles=lambda: self.troubles,
            workflows=lambda: CAKES,
            clock=lambda: self.now,
        )

    def beat(self, *troubles: Trouble, after: float = PERIOD) -> None:
        self.now += after
        self.troubles = list(troubles)
        self.health.beat()


def open_alerts() -> list[tuple[str, str, str]]:
    alerts = Alert.objects.filter(closed_at__isnull=True).order_by("id")
    return list(alerts.values_list("kind", "subject", "code"))


def test_a_process_records_that_it_is_alive_and_what_it_runs() -> None:
    process = Process()
    process.beat()
    row = RoleInstance.objects.get()
    assert (row.instance, row.role, row.troubles) == ("scheduler:a", "scheduler", [])
    assert row.versions == [["bake-cake", 3, CAKE.fingerprint]]
    assert row.release == settings.CONFIG.release != ""
    process.health.forget()
    assert not RoleInstance.objects.exists()


@pytest.mark.pattern("V6")
def test_the_rows_of_processes_that_have_died_are_deleted_by_the_next_one_that_starts() -> None:
    """A supervisor's shift never deletes its own, and one starts every minute; each pass reads all the rows."""
    for number, age in enumerate((FORGOTTEN + 60, FORGOTTEN - 60, 1)):
        RoleInstance.objects.create(instance=f"supervisor:{number}", role="supervisor", seen_at=ago(age))
    process = Process()
    process.beat()
    assert set(RoleInstance.objects.values_list("pk", flat=True)) == {
        "supervisor:1",
        "supervisor:2",
        "scheduler:a",
    }
    RoleInstance.objects.update(seen_at=ago(FORGOTTEN + 60))
    process.beat()
    assert RoleInstance.objects.count() == 3  # once is enough


def test_it_records_so_every_few_seconds_and_at_once_when_something_changes() -> None:
    process = Process()
    process.beat()
    RoleInstance.objects.update(seen_at=ago(1_000))
    process.beat(after=PERIOD / 2)
    assert RoleInstance.objects.filter(seen_at__lt=ago(900)).exists()
    process.beat(BROKEN, after=0.0)
    assert not RoleInstance.objects.filter(seen_at__lt=ago(900)).exists()
    assert RoleInstance.objects.get().troubles == [
        {"kind": "release", "subject": "scheduler", "code": "KeyError"}
    ]


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_that_fails_is_repeated_when_the_next_is_due_and_not_at_every_pass() -> None:
    """Not even the first, which has news: a database in trouble would get one from each pass of each process."""
    process = Process()
    attempts = []

    def refuse(*_: object) -> None:
        attempts.append(process.now)
        raise OperationalError("no")

    with connection.execute_wrapper(refuse):
        process.beat()
        process.beat(after=PERIOD / 5)
        process.beat(BROKEN, after=PERIOD / 5)
        assert len(attempts) == 1
        process.beat(BROKEN)
        assert len(attempts) == 2
    process.beat(BROKEN)
    assert RoleInstance.objects.get().troubles


@pytest.mark.pattern("O1")
def test_a_trouble_of_many_processes_is_one_alert_which_stays_until_none_has_it() -> None:
    first, second = Process("scheduler:a"), Process("scheduler:b")
    first.beat(BROKEN)
    second.beat(BROKEN)
    assert open_alerts() == [("release", "scheduler", "KeyError")]
    first.beat()
    assert len(open_alerts()) == 1
    second.beat()
    assert open_alerts() == []
    alert = Alert.objects.get()
    assert (alert.closed_by, alert.resolution) == ("the scheduler", "it works again")


def test_the_alert_of_a_process_that_died_is_closed_by_the_one_that_replaces_it() -> None:
    Process("scheduler:a").beat(BROKEN)
    successor = Process("scheduler:b")
    successor.beat()
    assert len(open_alerts()) == 1
    RoleInstance.objects.filter(instance="scheduler:a").update(seen_at=ago(ALIVE + 1))
    successor.beat()
    assert open_alerts() == []


def test_alerts_about_orders_and_outages_are_left_alone() -> None:
    order = make_order()
    make_alert(order.pk)
    make_alert(None, kind="outage", agent="oven")
    Process().beat()
    assert open_alerts() == [("step_failed", "", "no"), ("outage", "", "no")]


@pytest.mark.pattern("O1")
@pytest.mark.parametrize(("is_slow", "code"), [(True, "slow"), (False, "no_progress")])
def test_operators_are_told_when_a_role_has_completed_no_pass_for_a_minute(is_slow: bool, code: str) -> None:
    process = Process()
    process.health.note_failure(OperationalError("it took too long\nand more"), is_slow=is_slow)
    process.beat(after=NO_PROGRESS - 1)
    assert open_alerts() == []
    process.beat(after=1)
    assert open_alerts() == [("stalled", "scheduler", code)]
    assert Alert.objects.get().message.endswith(": it took too long")
    process.health.note_pass()
    process.beat()
    assert open_alerts() == []


@pytest.mark.pattern("O1")
def test_a_role_that_hangs_without_an_error_is_told_by_the_thread_that_still_reports() -> None:
    """An agent host exchanges and reports in different threads."""
    process = Process()
    process.beat(after=NO_PROGRESS)
    assert open_alerts() == [("stalled", "scheduler", "no_progress")]
    assert "met no error: it hangs" in Alert.objects.get().message


def test_an_idle_role_is_not_stalled() -> None:
    """Its passes find nothing, and succeed."""
    process = Process()
    for _ in range(3):
        process.beat(after=NO_PROGRESS - 1)
        process.health.note_pass()
    assert open_alerts() == []


@pytest.mark.django_db(transaction=True)
def test_a_database_that_cannot_be_written_does_not_end_the_process() -> None:
    process = Process()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE orders_roleinstance RENAME TO away")
    try:
        process.beat(BROKEN)
        process.health.forget()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE away RENAME TO orders_roleinstance")
    process.beat(BROKEN)
    assert len(open_alerts()) == 1


# --- orders that no scheduler runs


class Watch:
    """A supervisor's look at the orders' versions, with a clock of its own."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.watch = VersionWatch(clock=lambda: self.now)

    def look(self, *, after: float = LOOK) -> list[tuple[str, str]]:
        self.now += after
        self.watch.look()
        return [(trouble.subject, trouble.code) for trouble in self.watch.troubles]


@pytest.mark.pattern("O1")
@pytest.mark.parametrize(
    "process",
    [{"version": 2}, {"workflow": replace(CAKE, name="bake-bread")}, {"fingerprint": "another"}],
    ids=["a version taken away", "a workflow taken away", "a version changed"],
)
def test_orders_on_a_workflow_that_nobody_runs_are_reported_after_a_minute(process: dict[str, Any]) -> None:
    order = make_order(**process)
    Process().beat()
    watch = Watch()
    assert watch.look() == []
    title = f"{order.workflow} v{order.version}"
    assert watch.look(after=PATIENCE) == [(title, "workflow_missing")]
    assert str(order.pk) in watch.watch.troubles[0].message
    make_order(**process)
    order.delete()
    assert watch.look() == [(title, "workflow_missing")]


def test_the_next_leader_goes_on_with_an_open_alert() -> None:
    make_order(version=2)
    Process().beat()
    first = Watch()
    first.look()
    first.look(after=PATIENCE)
    Process("supervisor:a").beat(*first.watch.troubles)
    assert Watch().look() == [("bake-cake v2", "workflow_missing")]


def test_each_version_that_nobody_runs_has_a_group_of_its_own_which_names_it() -> None:
    for version in (2, 4):
        make_order(version=version)
    Process().beat()
    watch = Watch()
    watch.look()
    watch.look(after=PATIENCE)
    Process("supervisor:a").beat(*watch.watch.troubles)
    assert set(AlertGroup.objects.values_list("pattern", flat=True)) == {
        f"no running scheduler has bake-cake v{version} as its orders started with it. Run a release that has it, "
        "and they continue. Orders waiting: …, … among them"
        for version in (2, 4)
    }


@pytest.mark.parametrize("state", ["pending", "processing"])
def test_orders_wait_in_vain_when_no_scheduler_runs_at_all(state: str) -> None:
    make_order({"mix": "running"} if state == "processing" else None, process_state=state)
    watch = Watch()
    watch.look()
    assert watch.look(after=PATIENCE) == [("bake-cake v3", "workflow_missing")]
    Process().beat()
    assert watch.look() == []


def test_a_deployment_that_takes_half_a_minute_is_no_trouble() -> None:
    make_order()
    watch = Watch()
    assert watch.look() == []
    assert watch.look(after=PATIENCE / 2) == []
    Process().beat()
    assert watch.look() == []
    RoleInstance.objects.all().delete()
    assert watch.look(after=PATIENCE) == []


@pytest.mark.parametrize(
    "finished", ["processed", "error"], ids=["an order that is done", "an order that waits for an operator"]
)
def test_orders_that_need_no_scheduler_are_not_reported(finished: str) -> None:
    make_order(version=2, process_state=finished)
    watch = Watch()
    watch.look()
    assert watch.look(after=PATIENCE) == []


def test_a_version_that_a_release_refuses_is_reported_once() -> None:
    make_order(fingerprint="another")
    refusal = Trouble(AlertKind.RELEASE, CAKE.title, "workflow_changed", "refused")
    Process().beat(refusal)
    watch = Watch()
    watch.look()
    assert watch.look(after=PATIENCE) == []
