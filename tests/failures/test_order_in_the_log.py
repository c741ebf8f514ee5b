"""One order through failures, retries, a resubmission and a cancellation: the logs of all processes tell of it."""

import re
from uuid import UUID

from django.contrib.auth.models import User

from orders.models import Event, OrderProcess
from orders.vocabulary import TokenScope
from tests.failures.web_shop import Shop
from tests.support.people import token_of
from tests.support.system import System
from tests.support.wait import until
from tests.web.server import Server

FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


def has(order_id: str, *kinds: str) -> bool:
    recorded = set(Event.objects.filter(order_id=order_id).values_list("kind", flat=True))
    return set(kinds) <= recorded


def state_of(order_id: str) -> str:
    return OrderProcess.objects.get(order_id=order_id).process_state


def ask(server: Server, account: str, path: str, *scopes: TokenScope) -> int:
    """What the web answers to one of the demonstration's accounts."""
    token = token_of(User.objects.get(username=account), *scopes)
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    return server.request("POST", path, body=b'{"reason": "try"}', headers=headers, timeout=90).status


def test_every_line_about_an_order_has_its_id_and_every_role_says_what_it_did(
    system: System, shop: Shop
) -> None:
    system.faults("carrier", hang_rate=1.0)
    system.start_all()
    server = shop.serve()
    order_id: str = shop.post(server, "key-1").json["id"]
    system.acknowledged.append(UUID(order_id))
    until(lambda: has(order_id, "step_timed_out"), what="the sweep that finds the step")
    system.no_faults()
    system.faults("carrier", refuse_rate=1.0)
    until(lambda: has(order_id, "step_refused", "error"), what="the refusal")
    resubmit = f"/api/v1/orders/{order_id}/resubmit"
    assert ask(server, "viewer", resubmit) == 403
    assert ask(server, "operator", resubmit, TokenScope.OPERATE) in (200, 202)
    until(lambda: Event.objects.filter(order_id=order_id, kind="error").count() == 2, what="a second refusal")
    assert shop.cancel(server, order_id).status in (200, 202)
    until(lambda: state_of(order_id) == "compensated", what="the compensation")

    lines: set[tuple[str, str]] = set()
    for log in sorted(system.folder.glob("*.log")):
        name = re.sub(r"\d|-", "", log.stem)
        for line in log.read_text().splitlines() if name != "sandbox" else ():
            facts = {field: value.strip('"') for field, value in FIELD.findall(line)}
            if order_id in line or order_id.replace("-", "") in line:
                assert facts.get("order_id") == order_id, line
                lines.add((name, facts.get("action", "")))
    expected = {
        ("jobs", "step_timed_out"),
        ("scheduler", "step_started"),  # for the second time
        ("scheduler", "step_refused"),
        ("scheduler", "error"),
        ("web", "resubmitted"),
        ("web", "compensation_requested"),
        ("scheduler", "step_compensated"),
        ("scheduler", "compensated"),
    }
    assert expected - lines == set()


def test_a_call_that_fails_is_in_the_log_of_the_agent_host(system: System) -> None:
    system.faults("warehouse", error_rate=1.0)
    system.start_all("submission", "scheduler", "agents")
    (order_id,) = system.place()
    until(lambda: has(str(order_id), "call_failed"), what="a call that fails")
    agents = next(process for process in system.running if process.name == "agents")
    until(lambda: re.search("action=call_failed.*", agents.log.read_text()) is not None, what="its line")
    (first, *_) = [text for text in agents.log.read_text().splitlines() if "call_failed" in text]
    assert f"order_id={order_id}" in first and "step=reserve-stock attempt=1 code=injected_error" in first
