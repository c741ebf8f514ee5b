"""The print shop's remote services, one module for each, and their settings."""

from collections.abc import Sequence

from orders.business import Environment
from orders.engine.contracts import Agent
from orders.shop.agents.carrier import Carrier
from orders.shop.agents.mail import Mail
from orders.shop.agents.payments import Payments
from orders.shop.agents.warehouse import Warehouse
from orders.shop.tracking import read_tracking_url
from sasweb.environment import next_port


def make_warehouse(environment: Environment) -> Warehouse:
    """Makes the agent of the warehouse, which is the sandbox's unless the environment says otherwise."""
    return Warehouse(environment.url("WAREHOUSE_URL", f"http://{_sandbox(environment)}/warehouse"))


def agents(environment: Environment) -> Sequence[Agent]:
    """Makes the shop's agents. Their services are the sandbox's unless the environment says otherwise."""
    from orders.shop.enclosing import LOOK_UPS, Encloser  # noqa: PLC0415 - one agent can be tested without Django

    sandbox = _sandbox(environment)
    return [
        make_warehouse(environment),
        Payments(environment.url("PAYMENTS_URL", f"http://{sandbox}/payments")),
        Carrier(environment.url("CARRIER_URL", f"http://{sandbox}/carrier")),
        Mail(
            environment.url("EMAIL_URL", f"smtp://{next_port(sandbox)}", schemes=("smtp", "smtps")),
            sender=environment.sender(),
            reply_to=environment.shop_email(),
            encloser=Encloser(*LOOK_UPS, tracking_url=read_tracking_url(environment)),
        ),
    ]


def _sandbox(environment: Environment) -> str:
    return environment.host_port("SANDBOX_BIND", "127.0.0.1:9000")
