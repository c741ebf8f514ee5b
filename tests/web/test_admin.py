"""The admin site: products and accounts can be edited, and the edits are audited; everything else is read-only."""

import html
import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.admin import MOST_ROWS
from orders.fields.order_numbers import spoken_number
from orders.models import AuditEntry, OrderProcess
from orders.shop.admin import ProductAdmin
from orders.shop.models import Product
from tests.support.factories import make_order, register
from tests.support.people import person, signed_in

pytestmark = pytest.mark.django_db

EDITABLE = {"deliveryterms", "product", "user"}
INLINE = re.compile(
    r"<script(?![^>]*\bsrc=)(?![^>]*type=.application/json)|<style|\sstyle=|\son\w+=|javascript:", re.I
)


@pytest.fixture
def root() -> Client:
    user = person("admin", "root")
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    return signed_in(User.objects.get(pk=user.pk))


def tables() -> list[Any]:
    return list(admin.site._registry.values())


def url_of(table: Any, end: str = "") -> str:
    meta = table.model._meta
    return f"/admin/{meta.app_label}/{meta.model_name}/{end}"


def inputs(page: str) -> dict[str, str]:
    """The values that a form has, by the names of its inputs."""
    return {
        **dict(re.findall(r'<input type="\w+" name="(\w+)" value="([^"]*)"', page)),
        **{
            name: html.unescape(text.lstrip())
            for name, text in re.findall(r'<textarea name="(\w+)"[^>]*>([^<]*)', page)
        },
    }


def test_a_new_product_has_its_currency_rank_and_time_filled_in_and_a_variant_needs_no_design(
    root: Client, catalogue: None
) -> None:
    values = inputs(root.get("/admin/shop/product/add/").content.decode())
    assert (values["currency"], values["rank"], values["design"]) == ("EUR", "1000", "{}")
    assert values["added_at_0"] and values["added_at_1"]
    own = {"sku": "first-sun-l", "variant_of": "first-sun", "title": "L", "artist": "A", "price": "900"}
    shown = {name: values[name] for name in ("currency", "rank", "added_at_0", "added_at_1")}
    for design in ("{}", ""):
        answer = root.post("/admin/shop/product/add/", {**shown, **own, "edition": "open", "design": design})
        assert answer.status_code == 302
        product = Product.objects.get(sku="first-sun-l")
        assert (product.design, product.price, product.variant_of_id) == ({}, 900, "first-sun")
        product.delete()


def test_a_design_is_shown_with_a_line_for_each_of_its_members(root: Client, catalogue: None) -> None:
    Product.objects.filter(sku="first-sun").update(design={"family": "sun", "seed": 7})
    page = root.get("/admin/shop/product/first-sun/change/").content.decode()
    assert inputs(page)["design"] == '{\n  "seed": 7,\n  "family": "sun"\n}'


def test_tables_of_libraries_are_hidden() -> None:
    assert {table.model._meta.app_label for table in tables()} == {"auth", "orders", "shop"}
    shown = {table.model for table in tables()}
    hidden = {model.__name__ for model in apps.get_app_config("orders").get_models() if model not in shown}
    assert hidden == {
        *("Address", "ApiToken", "AuditLink", "Bucket", "Erasure", "FeedEpoch", "LoggedRequest"),
        *("RetentionFailure", "StatusCount", "SubmissionKey", "TotpFactor"),
        *("AgentFigures", "AgentTally", "CauseFigures", "OrderFigures"),
        *(
            "CustomerTerm",
            "HandoverNote",
            "IntakePause",
            "OwnRunbook",
            "Presence",
            "SavedView",
            "StepPause",
            "TermsWalk",
        ),
    }


def test_not_even_a_superuser_can_bypass_the_engine(root: Client) -> None:
    order = make_order({"mix": "completed"})
    for table in tables():
        if table.model._meta.model_name in EDITABLE:
            continue
        assert root.get(url_of(table)).status_code == 200, table
        assert root.get(url_of(table, "add/")).status_code == 403, table
        assert root.post(url_of(table, "add/"), {}).status_code == 403, table
    path = f"/admin/orders/orderprocess/{order.pk}/"
    page = root.get(f"{path}change/")
    assert page.status_code == 200
    assert 'name="_save"' not in page.content.decode()
    assert root.post(f"{path}change/", {"process_state": "processed"}).status_code == 403
    assert root.post(f"{path}delete/", {"post": "yes"}).status_code == 403
    assert OrderProcess.objects.get().process_state == "pending"


def test_a_large_table_is_neither_counted_nor_sorted(root: Client) -> None:
    make_order({"mix": "completed"})
    for name in ("orderprocess", "stepstate", "event", "alert", "auditentry", "bulkitem"):
        with CaptureQueriesContext(connection) as queries:
            assert root.get(f"/admin/orders/{name}/?o=2").status_code == 200
        of_table = [query["sql"] for query in queries if f'FROM "orders_{name}"' in query["sql"]]
        counts = [sql for sql in of_table if "COUNT(" in sql]
        assert counts
        assert all(f"LIMIT {MOST_ROWS}" in sql for sql in counts), counts
        sorts = [re.findall(r"ORDER BY (.*?)(?: LIMIT|$)", sql) for sql in of_table if "ORDER BY" in sql]
        key = OrderProcess._meta.pk.column if name == "orderprocess" else "id"
        assert {clause for clauses in sorts for clause in clauses} == {f'"orders_{name}"."{key}" DESC'}


def test_edits_of_the_catalogue_are_in_the_audit_log(root: Client, catalogue: None) -> None:
    page = root.get("/admin/shop/product/sold-out/change/")
    form = page.context["adminform"].form.initial | {"title": "Found again", "price": "250"}
    values = {name: value for name, value in form.items() if value is not None and name != "sku"}
    times = {f"added_at_{n}": part for n, part in enumerate(("2026-01-05", "09:00:00"))}
    response = root.post(
        "/admin/shop/product/sold-out/change/", {**values, **times, "design": '{"family": "sun"}'}
    )
    assert response.status_code == 302, response.context["errors"]
    poster = Product.objects.get(sku="sold-out")
    assert (poster.title, poster.price) == ("Found again", 250)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.act, entry.target) == ("root", "edit", "product sold-out")
    assert entry.result == "changed Title, Price, Design and Added at"
    assert (entry.before["title"], entry.before["price"]) == ("Sold Out", 100)
    assert entry.after == {
        **{"title": "Found again", "price": 250, "design": {"family": "sun"}},
        "added_at": "2026-01-05T09:00:00Z",
    }
    assert entry.before.keys() == entry.after.keys()
    assert root.post("/admin/shop/product/sold-out/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("table", ["orderprocess", "stepstate"])
def test_an_order_is_searched_by_its_id_or_number_and_no_ids_are_compared_as_texts(
    table: str, root: Client
) -> None:
    """As texts, the search of a million orders took seconds, and that of their steps ran into the time limit."""
    order, other = make_order(), make_order()
    register(order.pk, other.pk)
    number = spoken_number(order.pk)
    ids = (str(order.pk), str(order.pk).upper(), order.pk.hex, order.pk.hex[-8:])
    for term in (*ids, number, number.lower(), number.replace("-", "")):
        with CaptureQueriesContext(connection) as captured:
            page = root.get(f"/admin/orders/{table}/", {"q": term})
        rows = page.context["cl"].result_list
        assert {getattr(row, "process_id", None) or row.pk for row in rows} == {order.pk}
        assert not any("UPPER(" in query["sql"] for query in captured)
    mistaken = f"{number[1]}{number[0]}{number[2:]}" if number[0] != number[1] else f"{number}X"
    for term in (mistaken, other.pk.hex[:3], "nothing", f"{order.pk}0", "0" * 32):
        assert not root.get(f"/admin/orders/{table}/", {"q": term}).context["cl"].result_list


def test_edits_of_accounts_are_in_the_audit_log_by_name_and_without_secrets(root: Client) -> None:
    secrets = ("nine grey geese at dusk", "seven brown otters at dawn")
    form = {"username": "ada", "usable_password": "true", "password1": secrets[0], "password2": secrets[0]}
    assert root.post("/admin/auth/user/add/", form).status_code == 302
    ada = User.objects.get(username="ada")
    url = f"/admin/auth/user/{ada.pk}/"
    assert root.post(f"{url}password/", {"password1": secrets[1], "password2": secrets[1]}).status_code == 302
    group = Group.objects.create(name="packers")
    edit = {"username": "ada", "is_active": "on", "email": "ada@example.com", "groups": [group.pk]}
    times = {"date_joined_0": "2026-01-05", "date_joined_1": "09:00:00"}
    assert root.post(f"{url}change/", edit | times).status_code == 302
    added, password, changed = AuditEntry.objects.filter(act="edit").order_by("pk")
    assert {entry.target for entry in (added, password, changed)} == {"user ada"}
    assert (added.result, added.before, added.after["username"]) == ("added", None, "ada")
    assert added.after["password"] == "not recorded"
    assert password.result == "changed password"
    assert password.before == password.after == {"password": "not recorded"}
    assert changed.result == "changed Email address and Groups"
    assert changed.before == {"email": "", "groups": []}
    assert changed.after == {"email": "ada@example.com", "groups": ["packers"]}
    ada.refresh_from_db()
    entries = str(list(AuditEntry.objects.values()))
    assert not [text for text in (*secrets, ada.password) if text in entries]


def test_a_deleted_row_is_in_the_audit_log_with_its_values(
    root: Client, catalogue: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProductAdmin, "has_delete_permission", lambda *_: True)
    assert root.post("/admin/shop/product/sold-out/delete/", {"post": "yes"}).status_code == 302
    entry = AuditEntry.objects.get()
    assert (entry.act, entry.target, entry.result) == ("edit", "product sold-out", "deleted")
    assert (entry.before["sku"], entry.after) == ("sold-out", None)


def test_an_admin_cannot_create_a_superuser(root: Client) -> None:
    admin_user = person("admin")
    User.objects.filter(pk=admin_user.pk).update(is_staff=True)
    client = signed_in(admin_user)
    customer, boss = person("customer"), User.objects.get(username="root")
    page = client.get(f"/admin/auth/user/{customer.pk}/change/")
    assert page.status_code == 200
    assert not {"is_superuser", "user_permissions"} & set(page.context["adminform"].form.fields)
    assert client.post(f"/admin/auth/user/{boss.pk}/change/", {"username": "owned"}).status_code == 403
    assert client.post(f"/admin/auth/user/{boss.pk}/password/", {"password1": "x"}).status_code == 403
    assert client.get("/admin/orders/orderprocess/").status_code == 403


@pytest.mark.parametrize(
    ("password", "is_taken"), [("iloveyou1234", False), ("nine grey geese at dusk", True)]
)
def test_the_password_of_a_new_account_must_not_be_easy_to_guess(
    root: Client, password: str, is_taken: bool
) -> None:
    form = {"username": "olga", "usable_password": "true", "password1": password, "password2": password}
    page = root.post("/admin/auth/user/add/", form)
    assert ("easy to guess" in page.content.decode()) is not is_taken
    assert User.objects.filter(username="olga").exists() is is_taken


@pytest.mark.parametrize("role", ["viewer", "customer"])
def test_people_who_are_not_staff_have_no_access(role: str, catalogue: None) -> None:
    client = signed_in(person(role))
    for path in ("/admin/", "/admin/shop/product/", "/admin/orders/auditentry/"):
        assert client.get(path)["Location"].startswith("/admin/login/"), path


def test_its_pages_comply_with_the_content_security_policy(root: Client, catalogue: None) -> None:
    make_order({"mix": "completed"})
    for path in (
        *("/admin/", "/admin/auth/user/", "/admin/auth/user/add/", "/admin/shop/product/"),
        *("/admin/shop/product/sold-out/change/", "/admin/orders/orderprocess/", "/admin/password_change/"),
    ):
        page = root.get(path)
        assert page.status_code == 200, path
        assert "'unsafe-inline'" not in page["Content-Security-Policy"]
        assert INLINE.findall(page.content.decode()) == [], path
