"""`manage.py startbusiness` writes a business that runs at once, whose tests pass, and that needs nothing of ours."""

import ast
import os
import re
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from orders.models import OrderProcess
from tests.architecture.source import ROOT, is_ours, is_within, read_imports
from tests.architecture.test_arrows import KIT, PUBLIC
from tests.support.ports import free_ports
from tests.support.system import System, database_url
from tests.support.wait import until

NAME = "bakery"


@pytest.fixture
def written(tmp_path: Path) -> str:
    """What the command says, once it has written a business."""
    output = StringIO()
    call_command("startbusiness", NAME, str(tmp_path), stdout=output)
    return output.getvalue()


@pytest.fixture
def environment(transactional_db: None, tmp_path: Path) -> dict[str, str]:
    """The environment of a process that finds the business and the test database."""
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
        "BUSINESSES": f"orders.shop,{NAME}",
        f"{NAME.upper()}_STANDIN_BIND": f"127.0.0.1:{free_ports()}",
    }


def run(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("name", [NAME, "zoological_garden"])
def test_what_it_writes_is_clean_and_imports_only_what_is_public(name: str, tmp_path: Path) -> None:
    call_command("startbusiness", name, str(tmp_path), stdout=StringIO())
    place = tmp_path / name
    for check in (["check"], ["format", "--check"]):
        done = run("-m", "ruff", *check, "--config", "pyproject.toml", str(place), environment={**os.environ})
        assert done.returncode == 0, done.stdout
    paths = sorted(place.rglob("*.py"))
    assert len(paths) >= 9
    for path in paths:
        public = (*PUBLIC, KIT) if "tests" in path.relative_to(place).parts else PUBLIC
        imported = [entry.target for entry in read_imports(path.name, ast.parse(path.read_text()))]
        assert [name for name in imported if is_ours(name) and not is_within(name, *public)] == [], path


def test_in_production_its_service_needs_a_url(
    written: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The stand-in obeys everybody, and anybody on the machine could listen at its port."""
    shops = dict.fromkeys(("WAREHOUSE_URL", "PAYMENTS_URL", "CARRIER_URL"), "http://127.0.0.1:1")
    production = {"DEBUG": "false", "VAR_DIR": str(tmp_path / "var"), "EMAIL_URL": "smtp://127.0.0.1:1"}
    done = run("manage.py", "up", environment={**environment, **shops, **production})
    assert done.returncode == 1
    assert f"set {NAME.upper()}_URL to your own services" in done.stderr


def test_its_own_tests_pass(written: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """In a test database of their own, on the same server."""
    done = run(
        *("-m", "pytest", "-q", "-c", "pyproject.toml", "-p", "no:cacheprovider", str(tmp_path / NAME)),
        environment=environment,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr
    assert re.search(r"\b4\d passed", done.stdout)


def test_an_order_goes_through_the_real_roles(
    written: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The stand-in is started and the order placed with the very lines that the command has printed."""
    assert f"  BUSINESSES={environment['BUSINESSES']} bin/up\n" in written
    stand_in = re.search(rf"\.venv/bin/python (-m {NAME}\.standin)\n", written)
    order = re.search(r"\.venv/bin/python (manage\.py start_order .*)\n", written)
    assert stand_in and order
    system = System(tmp_path, forks=False, **environment)
    service = subprocess.Popen([sys.executable, *shlex.split(stand_in[1])], cwd=ROOT, env=environment)
    try:
        system.start_all("submission", "scheduler", "agents")
        placed = run(*shlex.split(order[1]), environment=system.environment)
        assert placed.returncode == 0, placed.stderr
        order_id = placed.stdout.split()[-1]
        until(
            lambda: OrderProcess.objects.filter(order_id=order_id, process_state="processed").exists(),
            what="the end of the order",
        )
    finally:
        system.end()
        service.terminate()
        service.wait(60)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Bakery", "'Bakery' cannot be a package's name"),
        ("my-bakery", "'my-bakery' cannot be a package's name"),
        ("class", "'class' cannot be a package's name"),
        ("django", "there is a package 'django' already"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("startbusiness", name, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(written: str, tmp_path: Path) -> None:
    (tmp_path / NAME / "agents.py").write_text("mine\n")
    with pytest.raises(CommandError, match="exists already; choose another name, or another folder"):
        call_command("startbusiness", NAME, str(tmp_path))
    assert (tmp_path / NAME / "agents.py").read_text() == "mine\n"
