"""The console's page of API tokens: creating one, seeing it once, and revoking it."""

import re
import threading
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.access import api_tokens, second_factor
from orders.models import ApiToken, AuditEntry
from orders.services import api_tokens as token_services
from tests.commands.running import run
from tests.support.desk import OLGA
from tests.support.factories import ago
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import in_threads
from tests.web.second_factors import FACTOR, code_of, give, move, with_device

pytestmark = pytest.mark.django_db

TOKENS = "/console/tokens/"
AT_ONCE = 5
NEW = {
    "label": "the <b>till</b>",
    "scopes": ["orders", "compensate"],
    "days": "30",
    "form_key": str(UUID(int=7)),
}


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_a_token_is_shown_once_and_works() -> None:
    olga = person("operator", "olga")
    client = signed_in(olga)
    created = client.post(TOKENS, NEW)
    (secret,) = re.findall(r"sas_[\w-]{43}", text(created))
    assert "no-store" in created["Cache-Control"]
    row = api_tokens.find(secret)
    assert row is not None
    assert (row.user, row.label, row.scopes) == (olga, NEW["label"], ["read", "orders", "compensate"])
    assert 29 < (row.expires_at - row.created_at).total_seconds() / 86_400 < 31
    assert api_client(secret).get("/api/v1/orders").status_code == 200
    page = text(client.get(TOKENS))
    assert secret not in page
    assert f"<code>{secret[: api_tokens.BEGINNING]}…</code>" in page
    assert "the &lt;b&gt;till&lt;/b&gt;" in page
    assert "read, orders, compensate" in page
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.act, entry.target) == ("olga", "token create", "olga")


def test_a_reload_of_the_new_token_creates_nothing() -> None:
    client = signed_in(person("operator"))
    for count in (1, 2):
        (key,) = re.findall(r'name="form_key" value="([0-9a-f-]{36})"', text(client.get(TOKENS)))
        form = NEW | {"form_key": key}
        assert client.post(TOKENS, form).status_code == 200
        again = client.post(TOKENS, form, follow=True)
        assert again.redirect_chain == [(TOKENS, 302)]
        assert "Nothing has been created" in text(again)
        assert ApiToken.objects.count() == count


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_posted_several_times_at_once_creates_one_token() -> None:
    client = signed_in(person("operator"))
    barrier = threading.Barrier(AT_ONCE, timeout=10)

    def post(_: int) -> Any:
        own = Client()
        own.cookies.update(client.cookies)
        barrier.wait()
        return own.post(TOKENS, NEW)

    answers = [future.result(timeout=60) for future in in_threads(AT_ONCE, post)]
    assert sorted(answer.status_code for answer in answers) == [200, *[302] * (AT_ONCE - 1)]
    assert ApiToken.objects.count() == 1
    assert AuditEntry.objects.count() == 1
    assert client.post(TOKENS, NEW).status_code == 302
    assert client.post(TOKENS, NEW | {"form_key": str(UUID(int=8))}).status_code == 200
    assert ApiToken.objects.count() == 2


def test_a_form_whose_token_could_not_be_created_may_be_posted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(person("operator"))
    with monkeypatch.context() as broken:
        broken.setattr(api_tokens, "mint", None)
        with pytest.raises(TypeError):
            client.post(TOKENS, NEW)
    assert client.post(TOKENS, NEW).status_code == 200
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x"])
def test_a_form_without_its_key_creates_nothing(key: str) -> None:
    refused = signed_in(person("operator")).post(TOKENS, NEW | {"form_key": key})
    assert (refused.status_code, "Load this page again" in text(refused)) == (422, True)
    assert not ApiToken.objects.exists()


def test_creating_a_token_needs_a_fresh_code(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    user = person("operator")
    device = with_device(user)
    client = signed_in(user)
    give(client, code_of(device))
    move(client, **{second_factor.GIVEN_AT: settings.SECOND_FACTOR_FRESH.total_seconds() + 1})
    assert client.post(TOKENS, NEW)["Location"].startswith(f"{FACTOR}?next=")
    assert not ApiToken.objects.exists()
    give(client, code_of(device, 1))
    assert client.post(TOKENS, NEW).status_code == 200
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    ("level", "wrong", "message"),
    [
        ("viewer", {"scopes": ["compensate"]}, "Choose among what your account may do."),
        ("operator", {"scopes": ["everything"]}, "Choose among what your account may do."),
        ("operator", {"days": "3000"}, "Choose after how many days it expires."),
        ("operator", {"label": "x" * 61}, "Shorten this to 60 characters."),
    ],
)
def test_a_wrong_form_says_what_is_wrong_and_creates_nothing(
    level: str, wrong: dict[str, Any], message: str
) -> None:
    response = signed_in(person(level)).post(TOKENS, NEW | {"scopes": ["orders"]} | wrong)
    assert response.status_code == 422
    assert message in text(response)
    assert not ApiToken.objects.exists()


def with_tokens() -> tuple[User, User, Client]:
    """Two operators with a token each, and the browser of the first."""
    olga, pia = person("operator", "olga"), person("operator", "pia")
    token_of(olga)
    token_of(pia)
    return olga, pia, signed_in(olga)


def test_an_operator_sees_and_revokes_only_her_own_tokens() -> None:
    olga, pia, client = with_tokens()
    ApiToken.objects.filter(user=olga).update(created_at=ago(9), expires_at=ago(1), last_used_at=ago(3_600))
    page = text(client.get(TOKENS))
    own, others = ApiToken.objects.get(user=olga), ApiToken.objects.get(user=pia)
    assert str(own) in page and "1 hour ago" in page and "> expired <" in page
    assert str(others) not in page
    assert client.post(f"{TOKENS}{others.pk}/revoke/").status_code == 404
    assert client.post(f"{TOKENS}{10**30}/revoke/").status_code == 404
    assert client.post(f"{TOKENS}{own.pk}/revoke/").status_code == 302
    assert list(ApiToken.objects.all()) == [others]


def test_a_token_is_revoked_only_after_a_page_that_says_what_it_is_for() -> None:
    olga, _, client = with_tokens()
    own = ApiToken.objects.get(user=olga)
    ApiToken.objects.filter(pk=own.pk).update(label="the till", last_used_at=ago(3_600))
    page = text(client.get(TOKENS))
    assert f'href="{TOKENS}{own.pk}/revoke/"' in page
    assert f'action="{TOKENS}{own.pk}/revoke/"' not in page
    question = text(client.get(f"{TOKENS}{own.pk}/revoke/"))
    assert "the till" in question and "1 hour ago" in question and f"Revoke {own}</button>" in question
    assert ApiToken.objects.filter(pk=own.pk).exists()


def test_a_token_whose_successor_was_revoked_does_not_pretend_to_be_replaced() -> None:
    olga, _, client = with_tokens()
    own = ApiToken.objects.get(user=olga)
    successor, _ = token_services.rotate(token=own, actor=OLGA)
    assert "That one is gone" not in text(client.get(TOKENS))
    token_services.revoke(token=successor, actor=OLGA)
    assert "That one is gone: create a new one." in text(client.get(TOKENS))
    assert "that one is gone: create a new one" in " ".join(run("token", "olga", "--list").out.split())


def test_the_date_on_which_a_token_expires_is_in_the_list() -> None:
    olga, _, client = with_tokens()
    ApiToken.objects.filter(user=olga).update(expires_at="2126-01-31T12:00Z")
    assert "2126-01-31" in text(client.get(TOKENS))


def test_an_administrator_sees_and_revokes_everybodys_tokens() -> None:
    olga, pia, _ = with_tokens()
    client = signed_in(person("admin", "root"))
    page = text(client.get(TOKENS))
    for name in ("olga", "pia"):
        assert f'data-label="Account"><span class="piece">{name}</span></td>' in page
    assert client.post(f"{TOKENS}{ApiToken.objects.get(user=olga).pk}/revoke/").status_code == 302
    assert ApiToken.objects.get().user == pia
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.act, entry.target) == ("root", "token revoke", "olga")
