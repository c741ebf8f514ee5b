"""Schemathesis takes the OpenAPI document at its word, against the real server: as a client and as an operator.

`bin/fuzz` runs the same for as long as it is told to.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from tests.fuzz.population import SKUS, populate
from tests.support.people import person, token_of
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.server import Server

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
"""How long both of them take together; 0 is for a short run whose requests are always the same."""
OWN_PART = {"client": "--exclude-tag=operators", "operator": "--include-tag=operators"}
CONFIG = Path(__file__).with_name("schemathesis.toml")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("role", ["client", "operator"])
def test_nothing_contradicts_the_document(role: str, tmp_path: Path) -> None:
    user = person("admin", role) if role == "operator" else User.objects.create(username=role)
    places = tmp_path / "places.json"
    places.write_text(json.dumps(populate(user)))
    server = Server(
        tmp_path / "log", database_url=database_url(), BUSINESSES="orders.shop,examples.lab", DEBUG="false"
    )
    try:
        until(server.answers, what="the server")
        ended = subprocess.run(
            command(server, role, token_of(user)),
            env={
                **os.environ,
                "PYTHONPATH": str(settings.BASE_DIR),
                "SCHEMATHESIS_HOOKS": "tests.fuzz.hooks",
                "FUZZ_PLACES": str(places),
                "FUZZ_SKUS": json.dumps(SKUS),
            },
            cwd=tmp_path,
            capture_output=not SECONDS,
            text=True,
        )
        assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
        server.stop()
    finally:
        server.end()


def command(server: Server, role: str, token: str) -> list[str]:
    """The call of Schemathesis. A long run has a seed of its own, which it prints, and tries everything as both."""
    length = (
        [f"--max-time={SECONDS / 2:.0f}", f"--seed={random.randrange(2**32)}", "--generation-database=none"]
        if SECONDS
        else ["--max-examples=5", "--generation-deterministic", OWN_PART[role]]
    )
    base = f"http://127.0.0.1:{server.port}"
    return [
        *(sys.executable, "-m", "schemathesis.cli", f"--config-file={CONFIG}", "run", f"{base}/api/schema/"),
        *(f"--url={base}", f"--header=Authorization: Token {token}"),
        "--exclude-operation-id=follow_order",  # its answers go on for a minute
        *("--checks=all", "--no-color", *length),
    ]
