"""The agents list their services' effects, page by page, against the real sandbox and against bad answers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import web

from orders.engine.contracts import Effect, EffectPage, ListingAgent, Request
from orders.engine.errors import Fault, Transient, Unresolved
from orders.shop.agents.carrier import Carrier
from orders.shop.agents.mail import Mail
from orders.shop.agents.payments import Payments
from orders.shop.agents.warehouse import Warehouse
from sandbox.app import PAGE
from tests.sandbox.process import Sandbox
from tests.support.order_bodies import PARIS
from tests.support.remote import serving

BOUND = 60.0
LINES = [{"sku": "tidal-lines", "quantity": 2}]
MONEY = {"amount": 7800, "currency": "EUR"}
RESULTS = {"authorise-payment": {"authorisation": "auth_1"}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A step that has an effect at an HTTP service."""

    step: str
    agent: Callable[[str], ListingAgent]
    service: str
    operation: str
    reversal: str
    data: dict[str, Any]


CASES = [
    Case(
        step="reserve-stock", agent=Warehouse, service="warehouse", operation="reserve", reversal="release",
        data={"lines": LINES},
    ),
    Case(
        step="authorise-payment", agent=Payments, service="payments", operation="authorise", reversal="void",
        data={**MONEY, "payment_method": "card_ok"},
    ),
    Case(
        step="capture-payment", agent=Payments, service="payments", operation="capture", reversal="refund",
        data=MONEY,
    ),
    Case(
        step="create-shipment", agent=Carrier, service="carrier", operation="create", reversal="cancel",
        data={"ship_to": PARIS, "lines": LINES},
    ),
]  # fmt: skip
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.step)


def request_of(case: Case) -> Request:
    order_id = uuid4()
    return Request(
        order_id=order_id,
        step=case.step,
        operation=case.operation,
        attempt=1,
        key=f"{order_id}/{case.step}/1",
        data=case.data,
        results=RESULTS,
        compensates=False,
        reverses="",
        seconds_left=30.0,
    )


def act_and_list(case: Case, sandbox: Sandbox, *acts: tuple[str, Request]) -> list[Effect]:
    """Performs or compensates these requests; returns every effect that the agent lists since the first of them."""
    agent = case.agent(f"http://127.0.0.1:{sandbox.port}/{case.service}")
    began = datetime.now(UTC)

    async def work() -> list[Effect]:
        try:
            async with asyncio.timeout(BOUND):
                for method, request in acts:
                    await getattr(agent, method)(request)
                page = await agent.list_effects(since=began, after="")
                effects = [*page.effects]
                while page.following:
                    page = await agent.list_effects(since=began, after=page.following)
                    effects += page.effects
                return effects
        finally:
            await agent.close()

    return asyncio.run(work())


@pytest.mark.pattern("F35")
@each_case
def test_an_effect_is_listed_under_its_key(case: Case, sandbox: Sandbox) -> None:
    request = request_of(case)
    (effect,) = act_and_list(case, sandbox, ("perform", request))
    assert (effect.key, effect.operation, effect.is_reversed) == (request.key, case.operation, False)
    assert (datetime.now(UTC) - effect.at).total_seconds() < BOUND


@each_case
def test_a_reversed_effect_says_so_and_its_reversal_has_its_own_key(case: Case, sandbox: Sandbox) -> None:
    request = request_of(case)
    reversal = replace(request, key=f"{request.key}/undo", reverses=request.key, compensates=True)
    effects = act_and_list(case, sandbox, ("perform", request), ("compensate", reversal))
    assert [(effect.key, effect.operation, effect.is_reversed) for effect in effects] == [
        (request.key, case.operation, True),
        (reversal.key, case.reversal, False),
    ]


def test_effects_are_listed_page_by_page(sandbox: Sandbox) -> None:
    case = CASES[0]
    requests = [request_of(case) for _ in range(PAGE + 1)]
    effects = act_and_list(case, sandbox, *(("perform", request) for request in requests))
    assert [effect.key for effect in effects] == [request.key for request in requests]


def answer_of(content: object) -> EffectPage:
    """What the carrier's agent makes of an answer."""

    async def handler(request: web.Request) -> web.Response:
        return web.json_response(content)

    async def work() -> EffectPage:
        async with serving(handler) as url:
            agent = Carrier(url)
            try:
                return await agent.list_effects(since=datetime.now(UTC), after="")
            finally:
                await agent.close()

    return asyncio.run(asyncio.wait_for(work(), BOUND))


GOOD = {"key": "k", "operation": "create", "at": "2026-01-01T00:00:00Z", "reversed": False}


def test_a_page_may_say_more_than_is_needed() -> None:
    page = answer_of({"effects": [GOOD | {"weight": 3}], "next": "c", "total": 7})
    assert page == EffectPage(
        effects=[Effect(key="k", operation="create", at=datetime(2026, 1, 1, tzinfo=UTC))], following="c"
    )


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"effects": {}},
        {"effects": [], "next": 3},
        {"effects": ["k"]},
        {"effects": [{name: value for name, value in GOOD.items() if name != "key"}]},
        {"effects": [GOOD | {"at": "yesterday"}]},
        {"effects": [GOOD | {"at": "2026-01-01T00:00:00"}]},
        {"effects": [GOOD | {"at": 5}]},
        {"effects": [GOOD | {"reversed": None}]},
    ],
)
def test_an_answer_that_is_no_page_is_a_fault(content: object) -> None:
    with pytest.raises(Unresolved) as caught:
        answer_of(content)
    assert caught.value.code == "bad_answer"


def test_a_service_that_is_down_cannot_be_listed(sandbox: Sandbox) -> None:
    sandbox.faults("warehouse", down=True)
    with pytest.raises(Fault) as caught:
        act_and_list(CASES[0], sandbox)
    assert type(caught.value) is Transient


def test_mail_cannot_be_listed() -> None:
    assert not hasattr(Mail, "list_effects")
