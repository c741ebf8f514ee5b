"""What `manage.py up` checks before it starts anything, and what it starts."""

import http.server
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from orders.management.commands import up
from sasweb import database
from sasweb.embedded_postgres.server import temporary_server
from sasweb.launcher import launch, ports
from sasweb.launcher.launch import LaunchError
from tests.launcher.helpers import python
from tests.support.ports import free_ports

ONE_EACH = dict.fromkeys(launch.ROLES, 1)


@pytest.fixture
def taken() -> Iterator[int]:
    """A port with the port after it, both in use."""
    with socket.socket() as first, socket.socket() as second:
        port = free_ports()
        first.bind(("127.0.0.1", port))
        first.listen()
        second.bind(("127.0.0.1", port + 1))
        second.listen()
        yield port


@pytest.fixture
def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_scale_names_roles_and_every_other_role_runs_once() -> None:
    assert launch.read_scale("", has_sandbox=True) == ONE_EACH
    scale = launch.read_scale("scheduler=2, agents=0", has_sandbox=True)
    assert scale == {**ONE_EACH, "scheduler": 2, "agents": 0}


@pytest.mark.parametrize(
    ("scale", "says"),
    [
        ("printer=2", "unknown role 'printer'; the roles are web, submission"),
        ("scheduler=many", "scheduler must be a whole number from 0 to 16, not 'many'"),
        ("scheduler", "not ''"),
        ("agents=17", "from 0 to 16"),
        ("agents=-1", "from 0 to 16"),
        ("sandbox=2", "sandbox must be a whole number from 0 to 1"),
    ],
)
def test_an_invalid_scale_is_refused_with_what_is_expected(scale: str, says: str) -> None:
    with pytest.raises(LaunchError) as refusal:
        launch.read_scale(scale, has_sandbox=True)
    assert says in str(refusal.value)


def test_each_process_has_a_name_and_web_processes_share_one() -> None:
    by_name = {
        spec.name: spec for spec in launch.specs({**ONE_EACH, "scheduler": 2, "web": 3, "agents": 0}, {})
    }
    assert list(by_name) == ["web.1", "submission.1", "scheduler.1", "scheduler.2", "jobs.1", "sandbox.1"]
    assert by_name["web.1"].env == {"WEB_CONCURRENCY": "3"}
    assert [name for name, spec in by_name.items() if spec.has_pipe and spec.death_signal is None] == [
        "jobs.1"
    ]


def test_of_our_own_processes_only_the_web_runs_with_debug() -> None:
    """With DEBUG, Django keeps the statements that a process has run: 160 MB of them in a scheduler under load."""
    specs = launch.specs(ONE_EACH, {"DEBUG": "true"})
    assert {spec.name: (spec.env or {})["DEBUG"] for spec in specs} == {
        **dict.fromkeys(["web.1", "sandbox.1"], "true"),
        **dict.fromkeys(["submission.1", "scheduler.1", "agents.1", "jobs.1"], "false"),
    }


def test_the_environment_suits_a_demonstration_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBUG", raising=False)
    monkeypatch.setenv("CUSTOMER_WAIT", "7")
    env = launch.environment(settings.CONFIG, database_url="postgresql://x/y")
    assert (env["DEBUG"], env["CUSTOMER_WAIT"], env["DATABASE_URL"]) == ("true", "7", "postgresql://x/y")
    assert Path(env["VAR_DIR"]).is_absolute()


def test_a_demonstrations_tracking_numbers_lead_to_its_sandbox_unless_it_has_its_own_carrier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tracking_url() -> str | None:
        return launch.environment(config, database_url="").get("TRACKING_URL")

    config = replace(settings.CONFIG, sandbox_bind="0.0.0.0:9434", debug=True)
    for name in ("TRACKING_URL", "CARRIER_URL"):
        monkeypatch.delenv(name, raising=False)
    assert tracking_url() == "http://127.0.0.1:9434/_parcels/{tracking}"
    monkeypatch.setenv("CARRIER_URL", "https://carrier.example")
    assert tracking_url() is None
    monkeypatch.setenv("TRACKING_URL", "https://parcels.example/{tracking}")
    assert tracking_url() == "https://parcels.example/{tracking}"


def test_a_taken_port_is_reported_with_its_variable(
    taken: int, free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "TIMEOUT", 0.0)
    config = replace(settings.CONFIG, bind=f"127.0.0.1:{free}", sandbox_bind=f"127.0.0.1:{taken - 1}")
    with pytest.raises(
        LaunchError, match=rf"^BIND=127.0.0.1:{taken}: cannot listen on port {taken} .*in use"
    ):
        launch.check_ports(replace(config, bind=f"127.0.0.1:{taken}"), ONE_EACH)
    with pytest.raises(
        LaunchError, match=rf"^SANDBOX_BIND=127.0.0.1:{taken}: cannot listen on port {taken} .*in use"
    ):
        launch.check_ports(replace(config, sandbox_bind=f"127.0.0.1:{taken}"), ONE_EACH)
    with pytest.raises(
        LaunchError, match=rf"^SANDBOX_BIND=.* for email: cannot listen on port {taken} .*in use"
    ):
        launch.check_ports(config, ONE_EACH)
    launch.check_ports(config, {**ONE_EACH, "sandbox": 0})


@pytest.mark.parametrize(
    ("env", "arguments", "says"),
    [
        ({"BIND": "127.0.0.1:{taken}"}, [], "BIND=127.0.0.1:{taken}: cannot listen on port {taken}"),
        ({"SANDBOX_BIND": "127.0.0.1:{before}"}, [], "SANDBOX_BIND=127.0.0.1:{before}, which also uses"),
        ({"SANDBOX_BIND": "127.0.0.1:{taken}", "DEBUG": "off"}, [], None),
        ({"SANDBOX_BIND": "127.0.0.1:{taken}"}, ["--scale", "agents=2,sandbox=0"], None),
        ({"BIND": "nonsense"}, [], None),
    ],
)
def test_a_bare_python_checks_the_ports_that_will_be_used(
    taken: int, free: int, env: dict[str, str], arguments: list[str], says: str | None
) -> None:
    """Before there is a virtual environment. Settings that make no sense are left to the launcher."""
    names = {"taken": taken, "before": taken - 1}
    free_ones = {"BIND": f"127.0.0.1:{free}", "SANDBOX_BIND": f"127.0.0.1:{free_ports()}"}
    environment = {**free_ones, **{name: value.format(**names) for name, value in env.items()}}
    check = subprocess.run(
        [sys.executable, "-I", "-S", ports.__file__, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == (says is not None)
    assert len(check.stderr.splitlines()) == (says is not None)
    assert (says or "").format(**names) in check.stderr
    if says:
        assert f"set {next(iter(env))} to another HOST:PORT" in check.stderr


def test_a_host_of_another_machine_is_reported_at_once() -> None:
    with pytest.raises(LaunchError, match=r"^BIND=192.0.2.1:8000: cannot listen on port 8000"):
        launch.check_ports(replace(settings.CONFIG, bind="192.0.2.1:8000"), ONE_EACH)


def test_up_with_a_taken_port_says_one_line_and_starts_nothing(taken: int, tmp_path: Path) -> None:
    env = {"BIND": f"127.0.0.1:{taken}", "VAR_DIR": str(tmp_path), "DATABASE_URL": ""}
    with python("manage.py", "up", env=env, stderr=subprocess.PIPE) as launcher:
        out, err = launcher.communicate(timeout=120)
    assert launcher.returncode == 1
    assert out == ""
    assert len(err.splitlines()) == 1
    assert f"BIND=127.0.0.1:{taken}" in err
    assert not (tmp_path / "postgres").exists()


def test_a_folder_has_only_one_launcher_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "LOCK_TIMEOUT", 0.0)
    with (
        up.the_only_launcher(tmp_path),
        pytest.raises(LaunchError, match="already running as process"),
        up.the_only_launcher(tmp_path),
    ):
        pass
    with up.the_only_launcher(tmp_path):
        pass


def test_an_unreachable_database_is_reported_in_one_line_without_its_password(free: int) -> None:
    with pytest.raises(LaunchError, match=r"^DATABASE_URL: the database cannot be used") as refusal:
        launch.check_database(f"postgresql://somebody:hush@127.0.0.1:{free}/shop")
    assert "\n" not in str(refusal.value)
    assert "hush" not in str(refusal.value)


def test_a_database_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_server() as server:
        launch.check_database(server.url)
        monkeypatch.setattr(database, "OLDEST_POSTGRES", 990_000)
        with pytest.raises(LaunchError, match="the database is PostgreSQL 18; "):
            launch.check_database(server.url)


@pytest.mark.parametrize(("status", "is_ready"), [(200, True), (503, False)])
def test_the_web_is_ready_when_it_answers_so_to_an_allowed_host(status: int, is_ready: bool) -> None:
    requests: list[tuple[str, str | None]] = []

    class Web(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append((self.path, self.headers["Host"]))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Web) as server:
        threading.Thread(target=server.handle_request).start()
        bind = f"0.0.0.0:{server.server_port}"
        assert (
            launch.is_ready(replace(settings.CONFIG, bind=bind, allowed_hosts=["*", ".shop.example"]))
            is is_ready
        )
    assert requests == [("/readyz", "shop.example")]


def test_a_web_that_does_not_answer_is_not_ready(free: int) -> None:
    assert not launch.is_ready(replace(settings.CONFIG, bind=f"127.0.0.1:{free}"))
