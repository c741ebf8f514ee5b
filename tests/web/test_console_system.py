"""The console's frame and its pages about the system: what they show, and to whom."""

import re
from html.parser import HTMLParser

import pytest
from django.test import Client

from orders.models import AgentInstance, AuditEntry, Circuit, LeaderLease
from orders.templatetags import console
from tests.support.factories import ago, ahead, make_alert, make_order
from tests.support.people import person, signed_in

pytestmark = pytest.mark.django_db

PAGES = ("/console/", "/console/agents/", "/console/supervisor/", "/console/workflow/")
ACTS = ("pause", "resume", "force", "unforce")


class Text(HTMLParser):
    """The words of a page, in one line, and where its links lead."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self._space(tag)
        if tag == "a":
            self.links.append(values.get("href") or "")
        if "id" in values:
            self.ids.append(values["id"] or "")

    def handle_endtag(self, tag: str) -> None:
        self._space(tag)

    def _space(self, tag: str) -> None:
        if tag not in ("time", "a", "strong", "b"):
            self.words.append(" ")

    def __str__(self) -> str:
        return " ".join("".join(self.words).split())


def read(role: str, path: str) -> Text:
    answer = signed_in(person(role)).get(path)
    assert answer.status_code == 200, path
    return Text(answer.content.decode())


def swept(seconds: float = 2.0) -> None:
    LeaderLease.objects.create(
        name="supervisor", holder="supervisor:a", term=4, expires_at=ahead(8), swept_at=ago(seconds)
    )


def running(agent: str) -> Circuit:
    AgentInstance.objects.create(agent=agent, instance="agents:1", capacity=8)
    return Circuit.objects.create(agent=agent)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_needs_the_access_level_viewer(path: str) -> None:
    assert Client().get(path).status_code == 302
    assert signed_in(person("customer")).get(path).status_code == 403
    page = read("viewer", path)
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.pattern("V7")
def test_the_overview_is_quiet_when_nothing_is_wrong_and_says_how_it_knows() -> None:
    swept()
    running("warehouse")
    page = str(read("viewer", "/console/"))
    assert re.search(
        r"Everything is working. Last sweep \d+ seconds ago; 1 agent is working; no alerts",
        page,
    )
    assert "never swept" not in page
    assert "The supervisor is late: its" not in page


@pytest.mark.pattern("O1", "A8")
def test_the_overview_says_what_is_wrong_and_each_number_leads_to_its_rows() -> None:
    swept(40)
    circuit = running("payments")
    Circuit.objects.filter(pk=circuit.pk).update(state="open", probe_at=ahead(3))
    Circuit.objects.create(agent="mail")
    make_alert(make_order(process_state="error").order_id, message="card refused")
    make_order(process_state="pending", created_at=ago(600))
    page = read("viewer", "/console/")
    text = str(page)
    assert "Everything is working" not in text
    for words in (
        r"The supervisor last swept \d+ s ago.",
        r"The supervisor is late: its last sweep was \d+ seconds ago.",
        r"Payments has been down\. No order waits for it\.",
        r"No process runs the agent mail\. No order waits for it\.",
        "1 order failed.*“card refused” It began .* Nothing more is tried until an operator acts on it. Open "
        "the cause",
        r"An order has been waiting for a scheduler for 1\d min( \d+ s)?. Is the scheduler process running\?",
        "card refused",
        r"Pending 1 oldest 1\d min( \d+ s)?",
        "Error 1 need an operator",
    ):
        assert re.search(words, text), words
    for state in ("queued", "pending", "processing", "error", "processed", "compensated"):
        assert f"/console/orders/?state={state}" in page.links
    assert "/console/orders/?waiting=payments" in page.links
    assert "/console/orders/?state=pending&kind=waiting+for+a+scheduler" in page.links
    assert "/console/set-aside/" in page.links


@pytest.mark.pattern("C2", "A8")
def test_an_order_that_waits_for_its_customer_or_its_agent_raises_no_warning() -> None:
    swept()
    running("warehouse")
    waits = {"process_state": "pending", "created_at": ago(7_200), "not_before": ahead(600)}
    make_order({"mix": {"state": "failed", "outcome": "refused", "not_before": ahead(600)}}, **waits)
    make_order({"mix": {"waiting_since": ago(90), "wanted_since": ago(7_000)}}, **waits)
    assert "Everything is working." in str(read("viewer", "/console/"))


def test_each_incident_is_a_card() -> None:
    swept(40)
    running("warehouse")
    client = signed_in(person("viewer"))
    alone = health_of(client)
    assert "The supervisor last swept" in alone
    assert alone.count('<li class="incident incident--bad">') == 1
    Circuit.objects.create(agent="mail")
    assert health_of(client).count('<li class="incident') == 2


def health_of(client: Client) -> str:
    html = client.get("/console/").content.decode()
    return html[html.index('id="health"') : html.index('aria-labelledby="orders-now"')]


@pytest.mark.parametrize(("seconds", "is_past"), [(-5.0, True), (0.0, True), (600.0, False)])
def test_a_past_moment_is_marked_as_past_for_browsers_with_a_wrong_clock(
    seconds: float, is_past: bool
) -> None:
    element = str(console.ago(ahead(seconds)))
    assert ("data-past" in element) is is_past
    assert (">in " in element) is not is_past


@pytest.mark.pattern("A8", "A9")
def test_the_agents_page_shows_cause_probe_ramp_and_operators_hold() -> None:
    running("payments")
    Circuit.objects.filter(agent="payments").update(
        state="open", cause_code="unavailable", cause_message="503", opened_at=ago(30), probe_at=ahead(10)
    )
    Circuit.objects.create(agent="mail", closed_at=ago(1))
    Circuit.objects.create(agent="carrier", paused=True, held_by="olga", held_reason="their night")
    page = str(read("viewer", "/console/agents/"))
    assert re.search(r"unavailable 503. The outage began \d+ seconds ago. Next try in \d+ seconds.", page)
    assert "Draining: 0 steps waiting, ramp at" in page
    assert "Paused by olga. Nothing new is sent to it. Reason: their night" in page
    assert "no process" in page
    assert "Pause payments" not in page  # a viewer has no buttons


@pytest.mark.pattern("A8")
def test_an_operator_pauses_and_resumes_an_agent_and_both_are_audited() -> None:
    running("payments")
    client = signed_in(person("operator"))
    answer = client.post("/console/agents/payments/pause/", {"reason": "their night"}, follow=True)
    assert "payments is paused" in answer.content.decode()
    circuit = Circuit.objects.get(agent="payments")
    assert (circuit.paused, circuit.held_reason) == (True, "their night")
    client.post("/console/agents/payments/pause/", {"reason": "again"})
    client.post("/console/agents/payments/resume/")
    circuit.refresh_from_db()
    assert not circuit.paused
    assert circuit.closed_at is not None  # waiting steps are let through gradually
    entries = list(AuditEntry.objects.order_by("id"))
    assert [(entry.act, entry.target, entry.result) for entry in entries] == [
        (
            "pause agent",
            "agent payments",
            "The agent payments is paused. Its steps wait until it is resumed.",
        ),
        ("pause agent", "agent payments", "The agent payments is already paused."),
        (
            "resume agent",
            "agent payments",
            "The agent payments has been resumed. Waiting steps are let through gradually.",
        ),
    ]
    assert [(entry.before["paused"], entry.after["paused"]) for entry in entries] == [
        (False, True),
        (True, True),
        (True, False),
    ]
    assert entries[0].reason == "their night"


@pytest.mark.pattern("A8")
def test_an_admin_forces_a_circuit_for_a_time_and_with_a_reason() -> None:
    running("payments")
    client = signed_in(person("admin"))
    force = "/console/agents/payments/force/"
    client.post(force, {"state": "open", "seconds": "900", "reason": "fraud"})
    circuit = Circuit.objects.get(agent="payments")
    assert (circuit.forced, circuit.state, circuit.held_reason) == ("open", "closed", "fraud")
    assert circuit.forced_until is not None
    assert ahead(800) < circuit.forced_until < ahead(910)
    assert "has forced that it is sent nothing" in client.get("/console/agents/").content.decode()
    client.post("/console/agents/payments/unforce/")
    circuit.refresh_from_db()
    assert (circuit.forced, circuit.forced_until) == ("", None)
    for wrong in (
        {"state": "open", "seconds": "900", "reason": " "},
        {"state": "half_open", "seconds": "900", "reason": "x"},
    ):
        client.post(force, wrong)
    response = client.post(force, {"state": "open", "seconds": "1e9", "reason": "x"}, follow=True)
    assert "Choose how long" in response.content.decode()
    circuit.refresh_from_db()
    assert circuit.forced == ""
    assert list(AuditEntry.objects.order_by("id").values_list("act", "allowed")) == [
        ("force circuit", True),
        ("unforce circuit", True),
        ("force circuit", False),
        ("force circuit", False),
    ]


@pytest.mark.parametrize(
    ("role", "act"), [*(("viewer", act) for act in ACTS), ("operator", "force"), ("operator", "unforce")]
)
def test_people_without_permission_change_nothing(role: str, act: str) -> None:
    running("payments")
    answer = signed_in(person(role)).post(
        f"/console/agents/payments/{act}/", {"state": "open", "seconds": "900", "reason": "x"}
    )
    assert answer.status_code == 403
    circuit = Circuit.objects.get(agent="payments")
    assert (circuit.paused, circuit.forced) == (False, "")


def test_a_link_cannot_trigger_an_act() -> None:
    running("payments")
    answer = signed_in(person("admin")).get("/console/agents/payments/pause/")
    assert (answer.status_code, answer["Location"]) == (302, "/console/agents/")
    assert not Circuit.objects.get(agent="payments").paused


@pytest.mark.pattern("V6")
def test_the_supervisor_page_names_the_leader() -> None:
    swept()
    page = str(read("viewer", "/console/supervisor/"))
    assert "Leader supervisor:a Term 4" in page
    assert "No sweep has found anything overdue." in page


@pytest.mark.pattern("C4")
def test_the_workflow_is_drawn_and_every_step_leads_to_its_orders() -> None:
    page = read("viewer", "/console/workflow/")
    assert "fulfil-order version 1" in str(page)
    assert "capture-payment" in str(page)
    assert "/console/orders/?step=capture-payment&state=error" in page.links


def test_the_frame_names_the_pages_and_marks_the_one_that_is_shown() -> None:
    html = signed_in(person("viewer")).get("/console/agents/").content.decode()
    assert html.count('aria-current="page"') == 1
    assert 'href="/console/agents/" aria-current="page"' in html
    assert "Raw tables" not in html or "/admin/" in html
    page = Text(html)
    for name in ("alerts", "bulk", "compensation", "agents", "supervisor", "workflow", "audit"):
        assert f"/console/{name}/" in page.links
