"""The shop's agents keep the contract, against the sandbox (A1, A2, A3, A5, A7, C10)."""

from collections.abc import Callable

import pytest

from orders.engine.contracts import Agent, Request
from orders.shop.agents.carrier import Carrier
from orders.shop.agents.mail import Mail
from orders.shop.agents.payments import Payments
from orders.shop.agents.warehouse import Warehouse
from orders.shop.fulfilment import AUTHORISATION, TRACKING
from orders.testing import AgentContract
from tests.agents.calls import forward
from tests.sandbox.process import Sandbox

pytestmark = pytest.mark.pattern("A1", "A2", "A3", "A5", "A7", "C10", "F14", "F15")


class SandboxContract(AgentContract):
    """An agent of the shop, with the requests of the shop's workflow."""

    service_name: str
    agent: Callable[[str], Agent]

    @pytest.fixture
    def service(self, sandbox: Sandbox) -> str:
        self.sandbox = sandbox
        return f"http://127.0.0.1:{sandbox.port}/{self.service_name}"

    def make_agent(self, url: str) -> Agent:
        return type(self).agent(url)

    def make_request(self) -> Request:
        return forward(self.step)

    def effects(self) -> list[str]:
        return [entry["key"] for entry in self.sandbox.ledger(self.service_name)]


class TestReserving(SandboxContract):
    step, operation, service_name, agent = "reserve-stock", "reserve", "warehouse", Warehouse


class TestAuthorising(SandboxContract):
    result_fields = (AUTHORISATION,)
    step, operation, service_name, agent = "authorise-payment", "authorise", "payments", Payments


class TestCapturing(SandboxContract):
    step, operation, service_name, agent = "capture-payment", "capture", "payments", Payments


class TestShipping(SandboxContract):
    result_fields = (TRACKING,)
    step, operation, service_name, agent = "create-shipment", "create", "carrier", Carrier


class TestConfirming(AgentContract):
    """Emails: another protocol, and a service without keys, which is at-least-once and can take nothing back."""

    step, operation = "send-confirmation", "confirm"
    speaks_http = can_compensate = False
    left_out = dict.fromkeys(
        ("test_the_same_key_twice_is_one_effect", "test_a_call_may_be_cancelled_at_any_await"),
        "a mail server takes an email as often as it comes",
    )

    @pytest.fixture
    def service(self, sandbox: Sandbox) -> str:
        self.sandbox = sandbox
        return f"smtp://127.0.0.1:{sandbox.port + 1}"

    def make_agent(self, url: str) -> Mail:
        return Mail(url, sender="Print Shop <orders@shop.example>")

    def make_request(self) -> Request:
        return forward(self.step)

    def effects(self) -> list[str]:
        return [mail["message_id"].removesuffix("@shop.example") for mail in self.sandbox.ledger("mail")]
