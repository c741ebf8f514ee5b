"""`manage.py up` with DEBUG off: no demonstration, no sandbox, and nothing in its folder that others can read."""

import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.launcher.helpers import line_with, python
from tests.support.ports import free_ports

NOWHERE = {
    "WAREHOUSE_URL": "http://127.0.0.1:1/warehouse",
    "PAYMENTS_URL": "http://127.0.0.1:1/payments",
    "CARRIER_URL": "http://127.0.0.1:1/carrier",
    "EMAIL_URL": "smtp://127.0.0.1:1",
}
"""Services of somebody's own; none is called."""


@pytest.fixture
def production(tmp_path: Path) -> dict[str, str]:
    """The environment of an installation without DEBUG, with a folder that everybody can read."""
    var_dir = tmp_path / "var"
    var_dir.mkdir()
    var_dir.chmod(0o755)
    sandbox = free_ports()
    return {
        "DEBUG": "false",
        "DATABASE_URL": "",
        "VAR_DIR": str(var_dir),
        "BIND": f"127.0.0.1:{free_ports()}",
        "SANDBOX_BIND": f"127.0.0.1:{sandbox}",
    }


def refusal(*arguments: str, env: dict[str, str]) -> str:
    with python("manage.py", "up", *arguments, env=env, stderr=subprocess.PIPE) as launcher:
        out, err = launcher.communicate(timeout=120)
    assert (launcher.returncode, out, err.count("\n")) == (1, "", 1)
    assert not (Path(env["VAR_DIR"]) / "postgres").exists()
    return err


def test_services_without_a_url_of_their_own_are_named_and_nothing_starts(production: dict[str, str]) -> None:
    missing = "set WAREHOUSE_URL, PAYMENTS_URL, CARRIER_URL, EMAIL_URL to your own services"
    assert missing in refusal(env=production)
    assert "set EMAIL_URL to your own" in refusal(env={**production, **NOWHERE, "EMAIL_URL": ""})


def test_another_businesss_services_are_named_too_since_its_stand_in_obeys_everybody(
    production: dict[str, str],
) -> None:
    lab = {**production, **NOWHERE, "BUSINESSES": "orders.shop,examples.lab"}
    assert "set LAB_INSTRUMENTS_URL, LAB_REPORTS_URL to your own services" in refusal(env=lab)


def test_the_sandbox_cannot_be_asked_for(production: dict[str, str]) -> None:
    refused = refusal("--scale", "sandbox=1", env={**production, **NOWHERE})
    assert "--scale sandbox=1: the sandbox only runs with DEBUG" in refused


def test_it_starts_without_demonstration_and_sandbox_and_keeps_its_files_to_itself(
    production: dict[str, str],
) -> None:
    var_dir = Path(production["VAR_DIR"])
    with python("manage.py", "up", env={**production, **NOWHERE}) as launcher:
        try:
            started = []
            while not started or "createsuperuser" not in started[-1]:
                started.append(line_with(launcher, ""))
                assert "API token" not in started[-1]
                assert "sandbox" not in started[-1]
            with psycopg.connect((var_dir / "database-url").read_text().strip()) as connection:
                rows = "SELECT (SELECT count(*) FROM auth_user), (SELECT count(*) FROM orders_product)"
                assert connection.execute(rows).fetchone() == (0, 0)
            assert not list(var_dir.glob("demo-*"))
            assert not list(var_dir.glob("sandbox*"))
            assert var_dir.stat().st_mode & 0o066 == 0
            files = [path for path in var_dir.iterdir() if not path.is_symlink()]
            assert {path.name for path in files if path.stat().st_mode & 0o077} == set()
        finally:
            os.kill(launcher.pid, signal.SIGTERM)
            rest = launcher.communicate(timeout=60)[0]
    assert launcher.returncode == 0
    by_role = {role: [line for line in started if line.startswith(role)] for role in ("jobs.1", "agents.1")}
    assert [len(lines) for lines in by_role.values()] == [1, 1]  # one line of each, and all before the banner
    assert "has not stopped" not in rest
