"""What the services cannot do: more than is in stock, and parcels to where the carrier does not go."""

import json
from typing import Any

import pytest

from tests.sandbox.examples import create, reserve
from tests.sandbox.process import Sandbox, new_key

RESERVE, CREATE = "/warehouse/reserve", "/carrier/create"


def lines(**quantities: int) -> dict[str, Any]:
    return {**reserve(), "lines": [{"sku": sku, "quantity": number} for sku, number in quantities.items()]}


def sent_to(country: str) -> dict[str, Any]:
    return {**create(), "ship_to": {"name": "Ada", "country": country}}


def test_more_than_is_left_is_refused_with_what_is_left_and_kept_under_the_key(sandbox: Sandbox) -> None:
    sandbox.faults("warehouse", stock={"wave": 1, "sun": 0, "moon": 2})
    key = new_key()
    reply = sandbox.call(RESERVE, lines(wave=2, sun=1, moon=2), key)
    assert (reply.status, reply.code) == (422, "sold_out")
    assert reply.content["error"]["detail"] == {
        "lines": [{"sku": "wave", "left": 1}, {"sku": "sun", "left": 0}]
    }
    sandbox.ask("DELETE", "/_faults")
    assert sandbox.call(RESERVE, lines(wave=2, sun=1, moon=2), key).code == "sold_out"
    assert sandbox.call(RESERVE, lines(wave=2, sun=1, moon=2), new_key()).status == 200
    assert sandbox.ledger("warehouse", key) == []


@pytest.mark.parametrize(("quantity", "status"), [(900, 200), (901, 422)])
def test_there_are_900_of_what_no_fault_names(sandbox: Sandbox, quantity: int, status: int) -> None:
    assert sandbox.call(RESERVE, lines(wave=quantity), new_key()).status == status


@pytest.mark.parametrize(("country", "status"), [("IS", 422), ("NO", 422), ("NL", 200), ("AQ", 422)])
def test_the_carrier_goes_neither_where_a_fault_says_nor_to_antarctica(
    sandbox: Sandbox, country: str, status: int
) -> None:
    sandbox.faults("carrier", unserved=["IS", "NO"])
    reply = sandbox.call(CREATE, sent_to(country), new_key())
    assert reply.status == status
    if status == 422:
        assert (reply.code, reply.content["error"]["detail"]) == ("address_not_served", {"country": country})


@pytest.mark.parametrize(
    ("service", "fault", "code"),
    [
        ("carrier", {"stock": {"wave": 0}}, "unknown_field"),
        ("warehouse", {"unserved": ["IS"]}, "unknown_field"),
        ("warehouse", {"stock": {"wave": -1}}, "invalid_value"),
        ("warehouse", {"stock": {"wave": True}}, "invalid_value"),
        ("warehouse", {"stock": ["wave"]}, "invalid_value"),
        ("carrier", {"unserved": "IS"}, "invalid_value"),
        ("carrier", {"unserved": ["Iceland"]}, "invalid_value"),
    ],
)
def test_a_limit_is_its_own_services_and_has_a_form(
    sandbox: Sandbox, service: str, fault: dict[str, Any], code: str
) -> None:
    reply = sandbox.ask("PUT", f"/_faults/{service}", json.dumps(fault).encode())
    assert (reply.status, reply.code) == (400, code)
