"""`manage.py load_demo`: loads once, keeps its secrets, and changes nothing the second time."""

import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command

from orders.access import api_tokens
from orders.shop.models import Product

pytestmark = pytest.mark.django_db


class OwnVarDir:
    """The installation's settings, but for the folder."""

    def __init__(self, var_dir: Path) -> None:
        self.var_dir = var_dir


@pytest.fixture
def var_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "CONFIG", OwnVarDir(tmp_path / "var"))
    monkeypatch.setattr(settings, "IS_DEMONSTRATION", True)
    return tmp_path / "var"


def load() -> str:
    out = io.StringIO()
    call_command("load_demo", stdout=out)
    return out.getvalue()


def accounts(var_dir: Path) -> dict[str, tuple[str, str]]:
    lines = [line.split("  ") for line in (var_dir / "demo-accounts.txt").read_text().splitlines()]
    return {role: (name, password) for role, name, password in lines}


def state() -> list[Any]:
    users = User.objects.order_by("pk").values_list("username", "password", "is_staff", "is_superuser")
    return [*users, *Product.objects.values_list()]


def test_it_loads_posters_accounts_and_a_token(var_dir: Path) -> None:
    output = load()
    assert output.count("\n") == 1
    posters = Product.objects.filter(is_listed=True, currency="EUR", variant_of=None)
    assert posters.count() == 24
    assert all(poster.variants.count() == 4 for poster in posters)
    credentials = accounts(var_dir)
    assert {role: name for role, (name, _) in credentials.items()} == {
        "customer": "demo@demo.invalid",
        "viewer": "viewer",
        "operator": "operator",
        "admin": "admin",
    }
    for name, password in credentials.values():
        assert len(password) >= 12
        assert User.objects.get(username=name).check_password(password)
        assert password not in output
    token = (var_dir / "demo-token").read_text().strip()
    row = api_tokens.find(token)
    assert row is not None
    assert (row.user.username, row.scopes) == ("api-demo", ["read", "orders", "priority"])
    assert not row.user.has_usable_password()
    assert token not in output


def test_the_warehouse_gets_its_first_stock_of_every_numbered_edition_and_of_nothing_else(
    var_dir: Path,
) -> None:
    load()
    sizes = dict(Product.objects.filter(edition="signed").values_list("sku", "edition_size"))
    stock = json.loads((var_dir / "sandbox-stock.json").read_text())
    assert {sku: item["of"] for sku, item in stock.items()} == sizes
    few = {sku: (item["left"], item["of"]) for sku, item in stock.items() if item["left"] <= 5}
    assert few == {"winter-atlas-60x80-signed": (3, 25), "signal-fires-60x80-signed": (0, 10)}
    assert not Product.objects.filter(edition="open", edition_size__isnull=False).exists()


def test_outside_debug_it_loads_nothing_and_says_what_to_do(
    var_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "IS_DEMONSTRATION", False)
    with pytest.raises(CommandError, match=r"DEBUG=true.*manage.py createsuperuser"):
        load()
    assert (User.objects.count(), Product.objects.count(), var_dir.exists()) == (0, 0, False)


def test_each_account_has_its_rights(var_dir: Path) -> None:
    load()
    rights = User.objects.values_list("username", "is_staff", "is_superuser")
    assert set(rights) == {
        ("demo@demo.invalid", False, False),
        ("viewer", False, False),
        ("operator", True, False),
        ("admin", True, True),
        ("api-demo", False, False),
    }
    for role in ("viewer", "operator", "admin"):
        assert Group.objects.get(name=role).user_set.get().username == role


def test_only_their_owner_can_read_the_secrets(var_dir: Path) -> None:
    load()
    for name in ("demo-accounts.txt", "demo-token"):
        assert stat.S_IMODE((var_dir / name).stat().st_mode) == 0o600


def test_loading_a_second_time_changes_nothing(var_dir: Path) -> None:
    load()
    before = state(), accounts(var_dir), (var_dir / "demo-token").read_text()
    load()
    assert (state(), accounts(var_dir), (var_dir / "demo-token").read_text()) == before
    assert User.objects.get(username="api-demo").api_tokens.count() == 1


def test_a_token_that_no_longer_works_is_replaced(var_dir: Path) -> None:
    load()
    old = (var_dir / "demo-token").read_text()
    User.objects.get(username="api-demo").api_tokens.all().delete()
    load()
    assert (var_dir / "demo-token").read_text() != old
    assert api_tokens.find((var_dir / "demo-token").read_text().strip())


def test_an_empty_database_gets_the_passwords_of_the_file(var_dir: Path) -> None:
    load()
    before = accounts(var_dir)
    User.objects.all().delete()
    load()
    assert accounts(var_dir) == before
    name, password = before["customer"]
    assert User.objects.get(username=name).check_password(password)


def test_a_new_folder_gets_new_passwords_for_our_accounts(var_dir: Path) -> None:
    load()
    (var_dir / "demo-accounts.txt").unlink()
    load()
    for name, password in accounts(var_dir).values():
        assert User.objects.get(username=name).check_password(password)


def test_somebody_elses_account_of_the_same_name_is_left_alone(var_dir: Path) -> None:
    account = User.objects.create_user("admin", "boss@example.org", "correct horse battery")
    load()
    account.refresh_from_db()
    assert account.check_password("correct horse battery")
    assert not account.is_superuser
    assert "admin" not in accounts(var_dir)


def test_a_changed_price_is_restored_and_an_unlisted_poster_stays_unlisted(var_dir: Path) -> None:
    load()
    Product.objects.filter(sku="first-sun").update(price=1, is_listed=False)
    load()
    poster = Product.objects.get(sku="first-sun")
    assert (poster.price, poster.is_listed) == (4900, False)
    assert poster.design["family"] == "sun"
    assert len(poster.design["palette"]) == 5
