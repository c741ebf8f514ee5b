"""The console's words for two acts that are easily confused: taking back a click, and cancelling an order."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from orders.models import BulkAction
from orders.services import audit
from orders.services.operators import bulk
from tests.support.factories import make_alert
from tests.support.people import person, signed_in
from tests.web.console_orders import BEFORE_SHIPMENT, an_order, in_error
from tests.web.places import every_place

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]

TEMPLATES = Path(__file__).parents[2] / "templates/console"
COMMENT = re.compile(r"{% comment %}.*?{% endcomment %}|{#.*?#}", re.DOTALL)
CODE = re.compile(r"{%.*?%}|{{.*?}}|<code\b.*?</code>", re.DOTALL)
MARKUP = re.compile(r"<(script|style|svg|head|code)\b.*?</\1>|<[^>]*>", re.DOTALL)
SPOKEN = re.compile(r'(?:aria-label|title|placeholder|alt)="([^"]*)"')
COMPENSATE = re.compile(r"\bcompensat\w*|\bundone\b|\bundoing\b", re.IGNORECASE)
UNDO = re.compile(r"\bundo\b.{0,40}", re.IGNORECASE)
TAKES_BACK_A_CLICK = re.compile(
    r"undo( it| this)? until then|undo it\.|undo the click|^undo$|^undo action\b|\bundo (pause|stop|resume)\b",
    re.IGNORECASE,
)
RIDDLES = re.compile(
    r"stands at|waiting: or not|asked and answered|^kept$|what was said|\bgoes on\b|^told\b|at today['’]s pace"
    r"|was heard of|\bnobody named\b|\bno order, worth\b|^store the note$|is handling this|\bpromises are at risk"
    r"|\bcompensated outside\b",
    re.IGNORECASE,
)


def texts(page: str) -> list[str]:
    """What a page says, piece by piece: between its tags, and to a screen reader."""
    spoken = SPOKEN.findall(page)
    pieces = MARKUP.sub("\n", page).split("\n")
    return [" ".join(unescape(piece).split()) for piece in [*pieces, *spoken] if piece.strip()]


def mistaken(pieces: list[str]) -> list[str]:
    """The pieces that use the engine's word to people, or "undo" for anything but taking back a click."""
    undo = [piece for piece in pieces if (match := UNDO.search(piece)) and not allowed(piece, match[0])]
    return [piece for piece in pieces if COMPENSATE.search(piece)] + undo


def allowed(piece: str, phrase: str) -> bool:
    return bool(TAKES_BACK_A_CLICK.search(phrase) or TAKES_BACK_A_CLICK.search(piece))


@pytest.fixture
def busy_desk() -> dict[str, str]:
    """The console's pages with an order in each state that the words are about, by name."""
    failed = in_error()
    cancelling = an_order(
        {**BEFORE_SHIPMENT, "reserve-stock": "compensating"}, process_state="processing", goal="compensate"
    )
    cancelled = an_order({"reserve-stock": "compensated"}, process_state="compensated", goal="compensate")
    stuck = an_order(
        {"reserve-stock": {"state": "failed", "outcome": "done", "compensation_failure_count": 6}},
        process_state="error",
        goal="compensate",
    )
    make_alert(stuck.pk, kind="compensation_failed", code="gone", step="reserve-stock")
    audit.record(
        actor=audit.Actor(name="olga"), act="compensate", target=f"order {cancelled.pk}", result="Done."
    )
    actions: list[BulkAction] = [
        bulk.create(
            kind=kind, order_ids=[order.pk], selection="one", actor=audit.Actor(name="olga"), typed_count=1
        )
        for kind, order in (("compensate", failed), ("resubmit", in_error()))
    ]
    orders = {f"order {order.pk}": order for order in (failed, cancelling, cancelled, stuck)}
    return {
        **{name: reverse("console:order", args=[order.pk]) for name, order in orders.items()},
        "cancel": reverse("console:order-compensate", args=[failed.pk]),
        "settle": reverse("console:step-settle", args=[stuck.pk, "reserve-stock"]),
        "skip": reverse("console:step-skip", args=[failed.pk, "create-shipment"]),
        "erase": reverse("console:order-erase", args=[cancelled.pk]),
        **{f"action {action.pk}": reverse("console:bulk", args=[action.pk]) for action in actions},
        "preview": f"{reverse('console:bulk-new')}?state=error&do=compensate",
        "group": reverse("console:group", args=[1]),
    }


@pytest.fixture
def root(settings: Any) -> User:
    settings.REQUIRE_SECOND_FACTOR = False
    settings.DEBUG = settings.IS_DEMONSTRATION = True
    user = person("admin")
    user.is_superuser = True
    user.save()
    return user


def test_no_page_of_the_console_confuses_undoing_a_click_with_cancelling_an_order(
    root: User, busy_desk: dict[str, str]
) -> None:
    client = signed_in(root)
    own = {name: path for name, path in every_place().items() if name.startswith("console:")}
    wrong = {}
    read = 0
    for name, path in (own | busy_desk).items():
        answer = client.get(path)
        if answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/html"):
            read += 1
            pieces = texts(answer.content.decode())
            if errors := mistaken(pieces) + [piece for piece in pieces if RIDDLES.search(piece)]:
                wrong[name] = errors
    assert wrong == {}
    assert read > 20


def test_no_template_of_the_console_does_either() -> None:
    wrong = {}
    for path in TEMPLATES.rglob("*.html"):
        pieces = texts(CODE.sub("", COMMENT.sub("", path.read_text())))
        if errors := mistaken(pieces) + [piece for piece in pieces if RIDDLES.search(piece)]:
            wrong[path.name] = errors
    assert wrong == {}
