"""The forms of the console mark, in one way, what has to be filled in."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from orders.models import Circuit
from tests.support.desk import failed_orders, group_of
from tests.support.people import person, signed_in
from tests.web.conftest import Desk
from tests.web.console_orders import in_error

pytestmark = pytest.mark.django_db

MARK = "(required)"
UNTYPED = ("hidden", "checkbox", "radio")


class Controls(HTMLParser):
    """The inputs that people fill in, in forms that act, and the words of their labels."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.controls: list[dict[str, Any]] = []
        self.labels: dict[str, str] = {}
        self._is_in_act = False
        self._label: dict[str, Any] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form":
            self._is_in_act = attributes.get("method") == "post"
        elif tag == "label":
            self._label = {"for": attributes.get("for"), "words": ""}
        elif tag in ("input", "textarea") and self._is_in_act and attributes.get("type") not in UNTYPED:
            is_empty = tag == "textarea" or not attributes.get("value")
            self.controls.append(
                {**attributes, "must": "required" in attributes and is_empty, "label": self._label}
            )

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._is_in_act = False
        elif tag == "label" and self._label is not None:
            if self._label["for"]:
                self.labels[str(self._label["for"])] = self._label["words"]
            self._label = None

    def handle_data(self, data: str) -> None:
        if self._label is not None:
            self._label["words"] += data

    def marked(self) -> list[tuple[str, bool, bool]]:
        """The name of each, whether it has to be filled in, and whether its label says so."""
        rows = []
        for control in self.controls:
            label = (
                control["label"]["words"] if control["label"] else self.labels.get(control.get("id", ""), "")
            )
            rows.append((control["name"], control["must"], MARK in label))
        return rows


@pytest.fixture
def admin(db: None, settings: Any) -> Client:
    settings.REQUIRE_SECOND_FACTOR = False
    return signed_in(person("admin", "ada"))


def test_every_form_of_the_console_marks_what_has_to_be_filled_in_and_nothing_else(
    admin: Client, places: dict[str, str]
) -> None:
    fields: dict[tuple[str, str], tuple[bool, bool]] = {}
    order = in_error()
    at = f"/console/orders/{order.pk}/"
    more = [f"{at}{page}" for page in ("", "edit/", "compensate/", "erase/", "steps/create-shipment/skip/")]
    group = f"/console/bulk/new/?group={failed_orders(2) and group_of().pk}"
    for path in [*places.values(), *more, group, f"{group}&do=compensate"]:
        answer = admin.get(path)
        if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
            for name, must, is_marked in Controls(answer.content.decode()).marked():
                fields[path, name] = (must, is_marked)
    wrong = {place: marks for place, marks in fields.items() if marks[0] != marks[1]}
    assert wrong == {}
    required = {name for (_, name), (must, _) in fields.items() if must}
    assert {"reason", "typed", "text", "code"} <= required


def test_a_reason_that_may_be_left_out_is_not_marked(desk: Desk) -> None:
    Circuit.objects.create(agent="kitchen")
    page = Controls(desk("operator").get("/console/agents/").content.decode())
    assert {must for name, must, _ in page.marked() if name == "reason"} == {False, True}
