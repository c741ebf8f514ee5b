"""Each operation of the agents that call over HTTP, against the sandbox: one effect per key, reversed in either order
(A1, A3, A7)."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from orders.agents.transport import Remote
from orders.engine.contracts import Agent, Finding, InquiringAgent, NotDone, Request, Unknown
from orders.engine.errors import Declined, Fault, Refused, Transient
from orders.shop.agents.carrier import Carrier
from orders.shop.agents.payments import Payments
from orders.shop.agents.warehouse import Warehouse
from tests.agents.calls import BOUND, compensate, fault_of, forward, perform, reversal_of, run
from tests.sandbox.process import Sandbox
from tests.support.order_bodies import PARIS

AgentType = Callable[[str], InquiringAgent]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A step that calls an HTTP service. `gives` is a name in its answer."""

    step: str
    agent: AgentType
    service: str
    effect: str
    reversal: str
    gives: str


CASES = [
    Case(
        step="reserve-stock",
        agent=Warehouse,
        service="warehouse",
        effect="reserve",
        reversal="release",
        gives="reservation",
    ),
    Case(
        step="authorise-payment",
        agent=Payments,
        service="payments",
        effect="authorise",
        reversal="void",
        gives="authorisation",
    ),
    Case(
        step="capture-payment",
        agent=Payments,
        service="payments",
        effect="capture",
        reversal="refund",
        gives="capture",
    ),
    Case(
        step="create-shipment",
        agent=Carrier,
        service="carrier",
        effect="create",
        reversal="cancel",
        gives="shipment",
    ),
]
NONE_LEFT = {"lines": [{"sku": "tidal-lines", "left": 0}]}
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.step)


@pytest.mark.parametrize("note", [{}, {"gift_note": "For Éva"}])
def test_the_carrier_is_sent_the_gift_note_if_there_is_one(note: dict[str, str], sandbox: Sandbox) -> None:
    agent, request = Carrier(f"http://127.0.0.1:{sandbox.port}/carrier"), forward("create-shipment", **note)
    call = run(agent, lambda: agent.rehearse(request)).call
    assert call is not None
    order_id = str(request.order_id)
    assert json.loads(call.body) == {
        "order_id": order_id,
        "ship_to": PARIS,
        "lines": [{"sku": "tidal-lines", "quantity": 2}],
        **note,
    }


def http_agent(case: Case, sandbox: Sandbox) -> Agent:
    return case.agent(f"http://127.0.0.1:{sandbox.port}/{case.service}")


def effects(sandbox: Sandbox, service: str, request: Request) -> list[str]:
    """The operations that the ledger has for one order."""
    order_id = str(request.order_id)
    return [entry["operation"] for entry in sandbox.ledger(service) if entry["order_id"] == order_id]


@pytest.mark.pattern("A1", "A3", "A7")
@each_case
def test_the_same_key_twice_is_one_effect(case: Case, sandbox: Sandbox) -> None:
    request = forward(case.step)
    first, second = perform(http_agent(case, sandbox), request, replace(request, attempt=2))
    assert first == second
    assert first[case.gives]
    assert effects(sandbox, case.service, request) == [case.effect]


@pytest.mark.pattern("C10")
@each_case
def test_an_effect_is_reversed_once(case: Case, sandbox: Sandbox) -> None:
    request = forward(case.step)
    perform(http_agent(case, sandbox), request)
    reversal = reversal_of(request)
    compensate(http_agent(case, sandbox), reversal, reversal)
    assert effects(sandbox, case.service, request) == [case.effect, case.reversal]


@pytest.mark.pattern("C10")
@each_case
def test_a_reversal_that_comes_first_keeps_the_effect_from_happening(case: Case, sandbox: Sandbox) -> None:
    request = forward(case.step)
    compensate(http_agent(case, sandbox), reversal_of(request))
    fault = fault_of(lambda: perform(http_agent(case, sandbox), request))
    assert type(fault) is Refused
    assert effects(sandbox, case.service, request) == []


@pytest.mark.pattern("A2")
@each_case
def test_a_retry_with_the_same_key_gets_the_lost_reply(case: Case, sandbox: Sandbox) -> None:
    request = forward(case.step)
    sandbox.faults(case.service, lost_reply_rate=1.0)
    assert type(fault_of(lambda: perform(http_agent(case, sandbox), request))) is Transient
    sandbox.ask("DELETE", "/_faults")
    (answer,) = perform(http_agent(case, sandbox), request)
    assert answer[case.gives]
    assert effects(sandbox, case.service, request) == [case.effect]


def test_a_call_under_way_has_no_outcome_yet(sandbox: Sandbox) -> None:
    request = forward("authorise-payment", payment_method="card_hangs")
    agent = Payments(f"http://127.0.0.1:{sandbox.port}/payments")

    async def ask_meanwhile() -> Finding:
        call = asyncio.create_task(agent.perform(request))
        finding: Finding = NotDone()
        while finding == NotDone():
            finding = await agent.inquire(request)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        return finding

    assert run(agent, ask_meanwhile) == Unknown(reason="the service says 'running'")


@each_case
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"down": True}, Transient),
        ({"error_rate": 1.0, "error_status": 503}, Transient),
        ({"error_rate": 1.0, "error_status": 429}, Transient),
        ({"refuse_rate": 1.0}, Refused),
    ],
    ids=["down", "503", "429", "refuse"],
)
def test_each_fault_of_a_service_is_classified(
    case: Case, fault: dict[str, Any], kind: type[Fault], sandbox: Sandbox
) -> None:
    request = forward(case.step)
    sandbox.faults(case.service, **fault)
    assert type(fault_of(lambda: perform(http_agent(case, sandbox), request))) is kind
    assert effects(sandbox, case.service, request) == []


@each_case
def test_a_reversal_that_is_refused_says_so(case: Case, sandbox: Sandbox) -> None:
    request = forward(case.step)
    perform(http_agent(case, sandbox), request)
    sandbox.faults(case.service, refuse_rate=1.0)
    assert type(fault_of(lambda: compensate(http_agent(case, sandbox), reversal_of(request)))) is Refused


@each_case
def test_an_unknown_operation_is_refused(case: Case, sandbox: Sandbox) -> None:
    request = replace(forward(case.step), operation="explode")
    agent = http_agent(case, sandbox)
    assert fault_of(lambda: perform(agent, request)).code == "unknown_operation"
    assert fault_of(lambda: compensate(agent, reversal_of(request))).code == "unknown_operation"


@pytest.mark.parametrize(
    ("method", "code"), [("card_declined", "card_declined"), ("card_unheard_of", "unknown_payment_method")]
)
def test_a_card_that_is_declined_or_unknown_is_for_the_customer_to_resolve(
    method: str, code: str, sandbox: Sandbox
) -> None:
    agent = Payments(f"http://127.0.0.1:{sandbox.port}/payments")
    fault = fault_of(lambda: perform(agent, forward("authorise-payment", payment_method=method)))
    assert (type(fault), fault.code) == (Declined, code)


@pytest.mark.parametrize(
    ("agent", "step", "limit", "code", "detail"),
    [
        (Warehouse, "reserve-stock", {"stock": {"tidal-lines": 0}}, "sold_out", NONE_LEFT),
        (Carrier, "create-shipment", {"unserved": ["FR"]}, "address_not_served", {"country": "FR"}),
    ],
)  # fmt: skip
def test_what_is_sold_out_or_not_served_is_for_the_customer_to_resolve_with_its_detail(
    agent: AgentType, step: str, limit: dict[str, Any], code: str, detail: dict[str, Any], sandbox: Sandbox
) -> None:
    service = "warehouse" if agent is Warehouse else "carrier"
    sandbox.faults(service, **limit)
    fault = fault_of(lambda: perform(agent(f"http://127.0.0.1:{sandbox.port}/{service}"), forward(step)))
    assert isinstance(fault, Declined)
    assert (fault.code, fault.detail) == (code, detail)
    assert fault.exchange is not None


def test_a_call_that_hangs_ends_at_its_timeout(sandbox: Sandbox) -> None:
    request = forward("authorise-payment", payment_method="card_hangs")
    remote = Remote(f"http://127.0.0.1:{sandbox.port}/payments", timeout=0.2)

    async def call() -> None:
        try:
            async with asyncio.timeout(BOUND):
                body = {"order_id": str(request.order_id), **request.data}
                await remote.post("authorise", key=request.key, body=body)
        finally:
            await remote.close()

    fault = fault_of(lambda: asyncio.run(call()))
    assert (type(fault), fault.code) == (Transient, "timeout")
    assert effects(sandbox, "payments", request) == []


@pytest.mark.parametrize("result", [None, {}, {"authorisation": ""}, {"authorisation": 5}])
def test_nothing_is_captured_without_an_authorisation(result: Any, sandbox: Sandbox) -> None:
    agent = Payments(f"http://127.0.0.1:{sandbox.port}/payments")
    request = replace(forward("capture-payment"), results={"authorise-payment": result})
    assert fault_of(lambda: perform(agent, request)).code == "no_authorisation"
    assert effects(sandbox, "payments", request) == []


def test_a_url_without_a_service_is_left_to_an_operator(sandbox: Sandbox) -> None:
    agent = Warehouse(f"http://127.0.0.1:{sandbox.port}/nowhere")
    assert fault_of(lambda: perform(agent, forward("reserve-stock"))).code == "misconfigured"
