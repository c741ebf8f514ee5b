"""The bar above the list of orders: what it completes, shows, corrects and refuses."""

import re
from urllib.parse import parse_qs

import pytest
from django.contrib.auth.models import User

from orders.console.forms.filters import OrderFilterForm
from orders.models import (
    AuditEntry,
    BulkAction,
)
from orders.wording.queries import completions
from tests.support.factories import ago, make_alert
from tests.web.conftest import Desk, person
from tests.web.console_orders import an_order, in_error
from tests.web.queried_orders import described, found

pytestmark = pytest.mark.django_db


def test_a_query_that_cannot_be_read_matches_nothing_exports_nothing_and_acts_on_nothing(desk: Desk) -> None:
    in_error()
    client = desk("operator")
    for query in ("colour:red", "state:eror", 'state:error "x'):
        page = client.get("/console/orders/", {"q": query})
        assert page.status_code == 200 and not page.context["orders"]
        assert page.context["form"].errors["q"]
        assert client.get("/console/orders.csv", {"q": query}).status_code == 400
        values = {
            "q": query,
            "do": "resubmit",
            "reason": "r",
            "waves": "0",
            "rate": "20",
            "stop_percent": "20",
        }
        assert client.post("/console/bulk/create/", {**values, "typed": "1", "seen": "1"}).status_code == 422
    assert not BulkAction.objects.exists()
    assert not AuditEntry.objects.filter(act="export").exists()


def test_the_drop_down_lists_write_into_the_query_and_old_urls_show_it(desk: Desk) -> None:
    failed = in_error()
    client = desk("viewer")
    written = client.get(
        "/console/orders/",
        {"q": "-agent:mail", "state": "error", "kind": "", "code": "no_route", "into": "query"},
    )
    assert written.status_code == 302
    assert written.headers["Location"] == "/console/orders/?q=state%3Aerror+error%3Ano_route+-agent%3Amail"
    for page in (
        client.get(written.headers["Location"]),
        client.get("/console/orders/?state=error&code=no_route"),
    ):
        assert [row.order_id for row in page.context["orders"]] == [failed.pk]
        assert 'value="state:error error:no_route' in page.content.decode()
        assert '<option value="error" selected>' in page.content.decode()


def test_the_folded_filters_write_customer_total_and_day_into_the_query_and_show_them(desk: Desk) -> None:
    client = desk("viewer")
    sent = {"q": "-agent:mail", "state": "error", "customer": "Ada L", "total": ">30", "since": "2h"}
    written = client.get("/console/orders/", {**sent, "until": "today", "into": "query"})
    query = 'state:error -agent:mail customer:"Ada L" total:>30 since:2h until:today'
    assert parse_qs(written.headers["Location"].partition("?")[2]) == {"q": [query]}
    page = client.get(written.headers["Location"])
    assert page.context["rest"] == "-agent:mail"
    assert {
        name: page.context["panel"][name].value() for name in ("customer", "total", "since", "until")
    } == {**{"customer": "Ada L", "total": ">30", "since": "2h", "until": "today"}}
    assert client.get("/console/orders/?customer=ada").headers["Location"].endswith("?q=customer%3Aada")


def test_a_filter_that_cannot_be_read_says_so_beside_its_field_and_nothing_is_searched(desk: Desk) -> None:
    in_error()
    page = desk("viewer").get("/console/orders/?q=state:error&total=much&into=query")
    assert page.context["panel"].errors["total"][0].startswith("Enter an amount, as in 39.00")
    assert (list(page.context["orders"]), page.context["rest"]) == ([], "state:error")
    assert '<details class="query__fields" open>' in page.content.decode()


def test_what_the_folded_filters_cannot_show_stays_in_the_query(desk: Desk) -> None:
    page = desk("viewer").get("/console/orders/", {"q": "state:error,pending priority:>5 agent:mail"})
    assert page.context["rest"] == "state:error,pending priority:>5"


def test_the_word_of_the_pages_finds_the_same_as_the_name_of_the_api(desk: Desk) -> None:
    order = an_order({}, process_state="compensated", goal="compensate", finished_at=ago(1))
    client = desk("operator")
    client.post("/console/orders/views/save/", {"name": "gone", "query": "state:compensated"})
    for word in ("cancelled", "compensated"):
        page = client.get(f"/console/orders/?q=state:{word}")
        assert [row.order_id for row in page.context["orders"]] == [order.pk]
        assert 'value="state:cancelled"' in page.content.decode()
        assert page.context["written"] == ["state:compensated"]
        assert str(order.pk) in client.get(f"/console/orders.csv?q=state:{word}").getvalue().decode()


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("waiting:carier", "no agent is called “carier”. Did you mean waiting:carrier?"),
        (
            "waiting:yes",
            "no agent is called “yes”. Choose from anything, carrier, mail, payments, warehouse.",
        ),
        ("-agent:mial", "no agent is called “mial”. Did you mean agent:mail?"),
        ("step:create-shipmnt", "Did you mean step:create-shipment?"),
        ("workflow:fulfill-order", "Did you mean workflow:fulfil-order?"),
        ("error:no_rute", "no alert has had the code “no_rute”. Did you mean error:no_route?"),
        ("owner:olgo", "no operator is called “olgo”. Did you mean owner:olga?"),
        ("owner:ada", "no operator is called “ada”."),
        ("acknowledged:olgo", "Did you mean acknowledged:olga?"),
        (
            "sku:tidl-lines",
            "no order and no product has the SKU “tidl-lines”. Did you mean sku:tidal-lines-a2?",
        ),
        ("waiting:any", "Did you mean waiting:anything? Choose from anything,"),
        ("since:yesterdya", "Did you mean since:yesterday? Enter a day or a time"),
        ("state:waiting", "Did you mean waiting:anything? Choose from pending,"),
        ("state:eror", "Did you mean state:error? Choose from pending, processing"),
        ("standing:retriyng", "Did you mean standing:retrying?"),
        ("waitng:carrier", "There is no field “waitng”. Did you mean waiting? Choose from"),
        ("state:error OR state:pending", "has no “OR”. Separate alternatives of one field with commas"),
    ],
)
def test_a_name_that_nothing_has_is_an_error_with_the_nearest_one(query: str, says: str) -> None:
    person("operator", "olga")
    User.objects.create(username="ada")
    described(in_error(), "tidal-lines-a2")
    errors = OrderFilterForm({"q": query}).errors
    assert says in errors["q"][0]


def test_a_page_of_an_unreadable_query_says_that_nothing_was_searched(desk: Desk) -> None:
    in_error()
    for query in ({"q": "waiting:carier"}, {"agent": "carier"}, {"q": "colour:red"}):
        page = desk("viewer").get("/console/orders/", query).content.decode()
        assert "Nothing was searched" in page and "cannot be read" in page
        counted = page[page.index('id="found"') :]
        assert "all orders" not in counted and "0 orders" not in counted
    assert (
        "Did you mean agent:carrier?" in desk("viewer").get("/console/orders/?agent=carier").content.decode()
    )


def test_the_bar_completes_fields_and_the_values_that_are_known(desk: Desk) -> None:
    in_error()
    page = desk("viewer").get("/console/orders/").content.decode()
    offered = re.findall(r'<option value="([^"]+:[^"]*)"', page)
    assert {
        "state:error",
        "paused:yes",
        "step:create-shipment",
        "waiting:anything",
        "customer:",
        "sku:",
    } <= set(offered)
    for condition in offered:
        if not condition.endswith(":"):
            found(condition)


@pytest.mark.parametrize(
    ("field", "first"),
    [("paused", ["yes", "no"]), ("total", [">200"]), ("age", [">2h"]), ("priority", [">5"])],
)
def test_a_field_offers_its_own_words_first_or_a_form_that_it_takes(field: str, first: list[str]) -> None:
    assert completions(field, "")[: len(first)] == first


def test_the_code_of_an_outage_leads_to_the_orders_that_wait(desk: Desk) -> None:
    make_alert(None, kind="outage", agent="carrier", code="connection_lost", message="no answer")
    page = desk("viewer").get("/console/orders/?q=error:connection_lost").content.decode()
    assert "No order has this alert itself." in page
    assert '<a href="/console/orders/?q=waiting:carrier">Orders that wait for carrier</a>' in page
    assert (
        "Orders that wait for"
        not in desk("viewer").get("/console/orders/?q=-error:connection_lost").content.decode()
    )
