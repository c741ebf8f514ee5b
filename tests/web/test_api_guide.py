"""The API's documentation says how to begin, and what it says is true."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from orders.models import SubmissionMessage
from tests.support.people import person
from tests.support.system import database_url
from tests.web.server import Server, running

pytestmark = pytest.mark.django_db

CODE = re.compile(r"```sh\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((/[^)]+)\)")


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    described: dict[str, Any] = client.get("/api/schema/", headers={"Accept": "application/json"}).json()
    return described


def test_orders_come_first_and_every_group_says_what_it_is(document: dict[str, Any]) -> None:
    names = [tag["name"] for tag in document["tags"]]
    assert names == [
        "orders",
        "products",
        "changes",
        "response queues",
        "requests",
        "operators",
        "callbacks",
        "webhook settings",
        "webhooks",
    ]
    assert all(tag["description"].endswith(".") for tag in document["tags"])
    used = {
        tag
        for part in ("paths", "webhooks")
        for path in document[part].values()
        for operation in path.values()
        for tag in operation["tags"]
    }
    assert used == set(names)


def test_the_guide_leads_to_pages_that_there_are(document: dict[str, Any], client: Client) -> None:
    links = LINK.findall(document["info"]["description"])
    assert links == ["/console/tokens/", "/api/problems/"]
    assert client.get("/api/problems/").status_code == 200
    assert client.get("/console/tokens/").status_code == 302  # to the sign-in page


@pytest.mark.django_db(transaction=True)
def test_the_commands_of_the_guide_create_a_token_and_place_an_order(
    document: dict[str, Any], catalogue: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    creation, first_order = CODE.findall(document["info"]["description"])
    person("customer", "ada")
    command, *words = creation.replace("NAME", "ada").split()
    assert command == "manage.py"
    call_command(*words)
    (token,) = re.findall(r"^sas_\S+$", capsys.readouterr().out, re.MULTILINE)
    with running(Server(tmp_path / "log", database_url=database_url())) as server:
        script = first_order.replace(settings.CONFIG.public_url, f"http://127.0.0.1:{server.port}")
        environment = {**os.environ, "TOKEN": token}
        answers = [
            subprocess.run(
                ["sh", "-c", script], env=environment, capture_output=True, text=True, check=True
            ).stdout
            for _ in range(2)
        ]
    assert [answer.split()[1] for answer in answers] == ["202", "202"]
    assert "\nidempotent-replayed: true\n" in answers[1].replace("\r", "").lower()
    assert SubmissionMessage.objects.count() == 1
