"""No release breaks for clients what the released document promises; docs/openapi has it."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from orders.access import api_versions
from orders.api import released_document
from orders.api.breaking_changes import breaking_changes
from orders.api.released_document import current_document, read_released, released_path, render_document

WHAT_TO_DO = (
    "If it has to break, begin a new version in orders/access/api_versions.py; the older one must go on as it is. Then "
    "write the new document with `manage.py api_document --release`."
)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return current_document()


def test_nothing_breaks_for_the_clients_of_the_released_document(document: dict[str, Any]) -> None:
    released = read_released()
    assert released is not None, (
        f"{released_path()} is missing. Write it with `manage.py api_document --release`."
    )
    breaks = breaking_changes(released, document)
    assert breaks == [], "\n".join([*breaks, WHAT_TO_DO])


@pytest.mark.parametrize(
    ("version", "changed"), [("2026-11-26", ["GET /api/v1/products: parameter size has another pattern"])]
)
def test_an_older_versions_document_differs_in_what_newer_ones_have_changed_alone(
    document: dict[str, Any], version: str, changed: list[str]
) -> None:
    """`tests/web/test_older_versions.py` proves that this goes on as it was for its clients."""
    older = json.loads(released_path().with_name(f"{version}.json").read_text())
    assert breaking_changes(older, document) == changed


def test_a_document_is_read_as_it_was_written(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "2026-11-26.json"
    path.write_text(render_document(document))
    monkeypatch.setattr(released_document, "released_path", lambda: path)
    assert read_released() == document


def test_each_member_that_goes_is_noticed(document: dict[str, Any]) -> None:
    whole = read_released()
    assert whole is not None
    released = {
        **whole,
        "paths": {path: whole["paths"][path] for path in ("/api/v1/orders", "/api/v1/webhooks")},
    }
    for name in ("NewFulfilOrderRequest", "Order", "NewWebhookRequest"):
        for member in released["components"]["schemas"][name]["properties"]:
            schema = document["components"]["schemas"][name]
            fewer = {key: value for key, value in schema["properties"].items() if key != member}
            schemas = {**document["components"]["schemas"], name: {**schema, "properties": fewer}}
            changed = {**document, "components": {**document["components"], "schemas": schemas}}
            assert breaking_changes(released, changed) != [], member


def test_the_command_writes_a_new_versions_document_and_refuses_what_breaks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / "docs").mkdir()
    call_command("api_document")
    assert capsys.readouterr().out == f"{released_path()} is new\n"
    call_command("api_document", "--release")
    call_command("api_document")
    assert capsys.readouterr().out.endswith("nothing breaks for clients of 2026-11-28\n")
    released = released_path().read_text()
    released_path().write_text(released.replace('"/api/v1/orders":', '"/api/v1/purchases":'))
    with pytest.raises(CommandError, match="GET /api/v1/purchases: is gone"):
        call_command("api_document", "--release")
    newer = api_versions.Version(name="2027-03-01", changes="Purchases are orders.")
    monkeypatch.setattr(api_versions, "VERSIONS", (*api_versions.VERSIONS, newer))
    call_command("api_document", "--release")
    assert released_path() == tmp_path / "docs" / "openapi" / "2027-03-01.json"
    assert breaking_changes(current_document(), read_released() or {}) == []
