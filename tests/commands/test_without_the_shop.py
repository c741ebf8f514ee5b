"""An installation with another business alone: pages, API and error pages work without the shop's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

ASK = """
import django, json
django.setup()
from django.test import Client
paths = ["/", "/console/", "/console/sign-in/", "/nothing/", "/admin/login/", "/api/v1/products", "/healthz"]
answers = [Client().get(path) for path in paths]
print("fulfil-order" in Client().get("/api/schema/").content.decode())
print(json.dumps({path: [a.status_code, a.headers.get("Location", "")] for path, a in zip(paths, answers)}))
"""


@pytest.mark.pattern("C4")
def test_operators_sign_in_where_there_is_no_shop(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "sasweb.settings",
        "BUSINESSES": "examples.lab",
        "VAR_DIR": str(tmp_path),
        "ALLOWED_HOSTS": "testserver",
        "DEBUG": "true",
    }
    ran = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-2] == "False"  # the document of the API names no workflow of the shop
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "/": [302, "/console/"],
        "/console/": [302, "/console/sign-in/?next=/console/"],
        "/console/sign-in/": [200, ""],
        "/nothing/": [404, ""],
        "/admin/login/": [200, ""],
        "/api/v1/products": [404, ""],
        "/healthz": [200, ""],
    }
