"""`bin/drill`: demo orders beside a real installation, of which no process gets a variable."""

import json
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sasweb.launcher import children
from tests.launcher.helpers import PROJECT, line_with, wait_for
from tests.support.order_bodies import order_body
from tests.support.ports import free_ports

SECRET = "the-real-secret"
REAL = {
    "DATABASE_URL": f"postgresql://sasweb:{SECRET}@127.0.0.1:1/real",
    "MIGRATE_DATABASE_URL": f"postgresql://owner:{SECRET}@127.0.0.1:1/real",
    "WAREHOUSE_URL": f"http://shop:{SECRET}@127.0.0.1:1/warehouse",
    "PAYMENTS_URL": "http://127.0.0.1:1/payments",
    "CARRIER_URL": "http://127.0.0.1:1/carrier",
    "EMAIL_URL": f"smtp://shop:{SECRET}@127.0.0.1:1",
    "ALERT_EMAIL": "oncall@example.org",
    "SECRET_KEY": SECRET * 4,
    "NEXT_BUSINESS_TOKEN": SECRET,
}
"""What a real installation has. Nothing answers there."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    sandbox, web = free_ports(), free_ports()
    return {
        **{name: value for name, value in os.environ.items() if name != "DEBUG"},
        **REAL,
        "DRILL_DIR": str(tmp_path / "drill"),
        "DRILL_BIND": f"127.0.0.1:{web}",
        "DRILL_SANDBOX_BIND": f"127.0.0.1:{sandbox}",
    }


def start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(PROJECT / "bin/drill"), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def output(environment: dict[str, str], *arguments: str) -> str:
    with start(environment, *arguments) as drill:
        return drill.communicate(timeout=120)[0]


def environments(folder: str) -> Iterator[str]:
    """The environment of each process that works on a folder."""
    for stat in children.processes():
        try:
            text = Path(f"/proc/{stat.pid}/environ").read_text(errors="replace")
        except OSError:
            continue
        if f"VAR_DIR={folder}\0" in text:
            yield text


def test_a_drill_processes_demo_orders_and_knows_nothing_of_the_real_installation(
    environment: dict[str, str],
) -> None:
    folder, url = environment["DRILL_DIR"], f"http://{environment['DRILL_BIND']}"
    with start(environment) as drill:
        try:
            token = line_with(drill, "API token: ").partition("API token: ")[2]
            line_with(drill, "sasweb is ready")

            def ask(path: str, body: Any = None) -> Any:
                headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
                data = json.dumps(body).encode() if body else None
                with urllib.request.urlopen(urllib.request.Request(url + path, data, headers)) as answer:
                    return json.load(answer)

            sku = ask("/api/v1/products")["results"][0]["sku"]
            order = ask("/api/v1/orders", order_body(lines=[{"sku": sku, "quantity": 1}]))
            wait_for(lambda: ask(f"/api/v1/orders/{order['id']}")["state"] == "processed", timeout=120)
            with urllib.request.urlopen(f"http://{environment['DRILL_SANDBOX_BIND']}/_ledger/mail") as answer:
                assert json.load(answer)  # the sandbox has the order's email
            for path in ("/", "/account/sign-in/"):
                with urllib.request.urlopen(url + path) as page:
                    text = " ".join(re.sub("<[^>]+>", " ", page.read().decode()).split())
                assert "Drill: demo orders; nothing is sent." in text
            texts = list(environments(folder))
            assert len(texts) > 6
            for text in texts:
                assert SECRET not in text and "127.0.0.1:1/" not in text and "oncall" not in text
                assert "\0DRILL=true\0" in f"\0{text}"
        finally:
            os.killpg(drill.pid, signal.SIGTERM)
            drill.communicate(timeout=60)


def test_a_folder_with_anything_else_in_it_is_left_alone(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "drill").mkdir()
    (tmp_path / "drill/database-url").write_text("postgresql:///real")
    for arguments in ([], ["--reset"]):
        assert "has something else in it; name a folder for drills alone" in output(environment, *arguments)
        assert [path.name for path in (tmp_path / "drill").iterdir()] == ["database-url"]


def test_it_listens_to_this_machine_alone(environment: dict[str, str]) -> None:
    port = environment["DRILL_BIND"].rpartition(":")[2]
    refused = output({**environment, "DRILL_BIND": f"0.0.0.0:{port}"})
    assert (
        f"BIND='0.0.0.0:{port}' is not valid; expected an address of this machine alone in a drill" in refused
    )
    sandbox = environment["DRILL_SANDBOX_BIND"].rpartition(":")[2]
    refused = output({**environment, "DRILL_SANDBOX_BIND": f"0.0.0.0:{sandbox}"})
    assert "SANDBOX_BIND='0.0.0.0" in refused


def test_a_drill_that_is_given_an_address_of_anything_outside_does_not_start(
    environment: dict[str, str],
) -> None:
    """Even if somebody starts it without bin/drill."""
    folder = environment["DRILL_DIR"]
    env = {
        "PATH": os.environ["PATH"],
        "DRILL": "true",
        "VAR_DIR": folder,
        "CARRIER_URL": "https://carrier.example",
    }
    command = [str(PROJECT / ".venv/bin/python"), str(PROJECT / "manage.py"), "up"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "a drill has no address of anything outside, so CARRIER_URL must not be set" in done.stderr
    assert not Path(folder, "postgres").exists()
