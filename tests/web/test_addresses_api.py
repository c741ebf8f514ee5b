"""REST clients order with addresses of any country, and those from before with what they always sent."""

import pytest
from rest_framework.test import APIClient

from orders.fields import address_rules
from orders.models import SubmissionMessage
from orders.shop import address_refusals
from orders.shop.models import DeliveryTerms
from tests.services.edited_orders import GOUDA
from tests.services.test_corrections import not_served
from tests.support.order_bodies import LONDON, order_body
from tests.support.roles import everything
from tests.web.helpers import ORDERS, assert_problem
from tests.web.test_address_forms import KOWLOON, SEATTLE
from tests.web.test_corrections_api import hers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]


def test_a_client_orders_with_the_parts_of_its_countrys_address(ada: APIClient) -> None:
    answer = ada.post(ORDERS, order_body(ship_to=SEATTLE | {"postal_code": "981011234"}))
    assert answer.status_code == 202
    assert SubmissionMessage.objects.get().body["ship_to"] == SEATTLE | {"postal_code": "98101-1234"}


def test_a_client_may_leave_out_what_a_country_does_not_have_and_the_state(ada: APIClient) -> None:
    """A client from before sends a code for Hong Kong, too, and no state anywhere."""
    without = {part: text for part, text in SEATTLE.items() if part != "state"}
    for address, stored in (
        (KOWLOON, KOWLOON),
        (KOWLOON | {"postal_code": "000"}, KOWLOON),
        (without, without),
        (LONDON | {"state": "England"}, LONDON),
    ):
        assert ada.post(ORDERS, {**order_body(), "ship_to": address}).status_code == 202
        assert SubmissionMessage.objects.latest("id").body["ship_to"] == stored


def test_a_client_is_told_what_a_postal_code_looks_like(ada: APIClient) -> None:
    def error(address: dict[str, str]) -> dict[str, str]:
        problem = assert_problem(ada.post(ORDERS, {**order_body(), "ship_to": address}), "validation_failed")
        (only,) = problem["errors"]
        return {name: only[name] for name in ("pointer", "detail")}

    assert error(LONDON | {"postal_code": "10115"}) == {
        "pointer": "/ship_to/postal_code",
        "detail": "This must be a postal code of GB, like EC1Y 8SY.",
    }
    assert error({part: text for part, text in LONDON.items() if part != "postal_code"}) == {
        "pointer": "/ship_to/postal_code",
        "detail": "An address in GB needs one, like EC1Y 8SY.",
    }


def test_the_same_request_with_the_same_key_is_the_same_order_whatever_the_rules_are_by_now(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    placed = ada.post(ORDERS, order_body(), **key)
    monkeypatch.setattr(address_rules.AddressRules, "fits", lambda rules, code: False)
    again = ada.post(ORDERS, order_body(), **key)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (202, "true")
    assert again.json()["id"] == placed.json()["id"]
    assert_problem(ada.post(ORDERS, order_body()), "validation_failed")


REFUSED_COUNTRIES = [
    ("XX", "This must be the code of a country (ISO 3166), such as GB. There is no country XX."),
    ("uk", "This must be the code of a country (ISO 3166), such as GB. There is no country UK."),
    ("AQ", "Nothing is delivered to AQ."),
]


@pytest.mark.parametrize(("country", "detail"), REFUSED_COUNTRIES)
@pytest.mark.parametrize("has_terms", [True, False])
@pytest.mark.parametrize("path", [ORDERS, f"{ORDERS}/quote"])
def test_a_country_that_there_is_not_or_that_nothing_goes_to_is_refused(
    ada: APIClient, path: str, has_terms: bool, country: str, detail: str
) -> None:
    if has_terms:
        DeliveryTerms.objects.create(country="", price=990, fewest_days=3, most_days=6)
    problem = assert_problem(ada.post(path, order_body(ship_to={"country": country})), "validation_failed")
    assert problem["errors"] == [{"pointer": "/ship_to/country", "detail": detail}]
    assert not SubmissionMessage.objects.exists()


@pytest.mark.parametrize(("country", "detail"), REFUSED_COUNTRIES)
def test_no_order_is_corrected_to_go_there(ada: APIClient, country: str, detail: str) -> None:
    order = hers(ada, not_served())
    before = everything(order)
    changes = {"changes": {"ship_to": GOUDA | {"country": country}}}
    problem = assert_problem(ada.post(f"{ORDERS}/{order.pk}/corrections", changes), "validation_failed")
    assert problem["errors"] == [{"pointer": "/changes/ship_to/country", "detail": detail}]
    assert everything(order) == before


def test_a_country_that_is_not_served_any_more_is_no_place_for_a_correction(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the order went there before."""
    order = hers(ada, not_served())
    monkeypatch.setattr(address_refusals, "present_not_served", lambda: frozenset({GOUDA["country"]}))
    answer = ada.post(f"{ORDERS}/{order.pk}/corrections", {"changes": {"ship_to": GOUDA}})
    (mistake,) = assert_problem(answer, "validation_failed")["errors"]
    assert mistake == {"pointer": "/changes/ship_to/country", "detail": "Nothing is delivered to NL."}


def test_an_order_that_was_placed_is_found_by_its_key_whatever_countries_are_served_by_now(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = {"HTTP_IDEMPOTENCY_KEY": "k"}
    placed = ada.post(ORDERS, order_body(), **key)
    monkeypatch.setattr(address_refusals, "present_not_served", lambda: frozenset({"GB"}))
    assert ada.post(ORDERS, order_body(), **key).json()["id"] == placed.json()["id"]
    assert_problem(ada.post(ORDERS, order_body()), "validation_failed")
