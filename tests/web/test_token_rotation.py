"""A token is replaced by another without a moment in which a client has none."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from orders.access import api_tokens, second_factor
from orders.models import ApiToken, AuditEntry
from orders.services import api_tokens as token_services
from orders.services.audit import Actor
from orders.vocabulary import TokenScope
from tests.commands.running import run
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import ORDERS, assert_problem, in_threads
from tests.web.second_factors import FACTOR, code_of, give, move, with_device

pytestmark = pytest.mark.django_db

TOKENS = "/console/tokens/"
OLGA = Actor(name="olga")


def beginning_of(secret: str) -> str:
    return secret[: api_tokens.BEGINNING]


def secret_in(response: Any) -> str:
    (secret,) = re.findall(r"sas_[\w-]{43}", response.content.decode())
    return secret


def row_of(secret: str) -> ApiToken:
    row = api_tokens.find(secret)
    assert row is not None
    return row


def end(secret: str) -> None:
    """Lets the time pass until a token ends."""
    ApiToken.objects.filter(pk=row_of(secret).pk).update(
        created_at="2020-01-01T00:00Z", expires_at=timezone.now()
    )


def status(secret: str) -> int:
    return api_client(secret).get(ORDERS).status_code


def test_both_tokens_are_valid_meanwhile_and_only_the_new_one_afterwards() -> None:
    olga = User.objects.create(username="olga")
    old, secret = api_tokens.mint(
        olga, scopes=[TokenScope.ORDERS], by="olga", label="the till", days=30, version="2020-01-01"
    )
    ApiToken.objects.update(version="2026-11-26")
    new, successor = token_services.rotate(token=old, overlap=timedelta(hours=2), actor=OLGA)
    assert (status(secret), status(successor)) == (200, 200)
    assert (new.scopes, new.label, new.version) == (["read", "orders"], "the till", "2026-11-26")
    assert timedelta(days=29) < new.expires_at - timezone.now() <= timedelta(days=30)
    ends = row_of(secret).expires_at - timezone.now()
    assert timedelta(minutes=119) < ends <= timedelta(hours=2)
    end(secret)
    assert_problem(api_client(secret).get(ORDERS), "token_expired")
    assert status(successor) == 200
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.act, entry.target) == ("olga", "token rotate", "olga")
    assert (entry.before["token"], entry.after["token"]) == (str(old), str(new))
    assert secret not in str(vars(entry)) and successor not in str(vars(entry))


def test_a_successor_has_the_version_of_its_predecessor(monkeypatch: pytest.MonkeyPatch) -> None:
    old, _ = api_tokens.mint(User.objects.create(username="olga"), scopes=[], by="olga")
    newer = api_tokens.api_versions.Version(name="2027-03-01", changes="Amounts are texts.")
    monkeypatch.setattr(api_tokens.api_versions, "VERSIONS", (*api_tokens.api_versions.VERSIONS, newer))
    assert token_services.rotate(token=old, actor=OLGA)[0].version == old.version != "2027-03-01"


def test_a_token_that_ends_before_the_overlap_is_not_prolonged() -> None:
    old, secret = api_tokens.mint(User.objects.create(username="olga"), scopes=[], by="olga", days=1)
    token_services.rotate(token=old, overlap=timedelta(days=30), actor=OLGA)
    assert row_of(secret).expires_at == old.expires_at


def test_a_token_is_rotated_once_also_if_its_successor_is_gone() -> None:
    old, _ = api_tokens.mint(User.objects.create(username="olga"), scopes=[], by="olga")
    lost, _ = token_services.rotate(token=old, actor=OLGA)
    refusal = f"is being replaced by {re.escape(str(lost))} already; .* create a new one"
    with pytest.raises(ValueError, match=refusal):
        token_services.rotate(token=old, actor=OLGA)
    assert token_services.revoke(token=lost, actor=OLGA)
    with pytest.raises(ValueError, match=refusal):
        token_services.rotate(token=old, actor=OLGA)
    assert ApiToken.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_who_rotate_a_token_at_once_one_is_refused() -> None:
    old, _ = api_tokens.mint(User.objects.create(username="olga"), scopes=[], by="olga")

    def rotate(_: int) -> bool:
        try:
            token_services.rotate(token=old, actor=OLGA)
        except ValueError:
            return False
        return True

    assert sorted(future.result(60) for future in in_threads(2, rotate)) == [False, True]
    assert ApiToken.objects.count() == 2


# --- by command


def test_a_token_is_rotated_by_command() -> None:
    User.objects.create(username="olga")
    old = run("token", "olga", "--scope", "orders", "--label", "the till").out.strip()
    rotated = run("token", "olga", "--rotate", beginning_of(old), "--overlap", "2h")
    new = rotated.out.strip()
    assert (status(old), status(new)) == (200, 200)
    assert re.fullmatch(
        rf"for read, orders; expires on [\d-]{{10}}; {beginning_of(old)}… is valid until [\d-]+ [\d:]+ UTC\n",
        rotated.err,
    )
    table = run("token", "olga", "--list")
    assert f"being replaced by {beginning_of(new)}… until" in " ".join(table.out.split())
    again = run("token", "olga", "--rotate", beginning_of(old))
    assert (again.code, again.out) == (1, "")
    assert f"is being replaced by {beginning_of(new)}… already" in again.err
    at_once = run("token", "olga", "--rotate", beginning_of(new), "--overlap", "0")
    newest = at_once.out.strip()
    assert at_once.err.endswith(f"; {beginning_of(new)}… has ended\n")
    assert (status(old), status(new), status(newest)) == (200, 401, 200)
    ended = run("token", "olga", "--rotate", beginning_of(new))
    assert (ended.code, "has ended; create a new one" in ended.err) == (1, True)


@pytest.mark.parametrize("overlap", ["", "a day", "-1h", "24", "1w", "٣h"])
def test_an_overlap_that_is_none_changes_nothing(overlap: str) -> None:
    User.objects.create(username="olga")
    old = run("token", "olga").out.strip()
    refused = run("token", "olga", "--rotate", beginning_of(old), f"--overlap={overlap}")
    assert (refused.code, refused.out) == (2, "")
    assert "--overlap takes a number with m, h or d" in refused.err
    assert ApiToken.objects.count() == 1


def test_a_token_is_named_by_what_is_shown_of_it_or_whole() -> None:
    User.objects.create(username="olga")
    old = run("token", "olga").out.strip()
    for wrong in (f"{old}x", f"{beginning_of(old)}x", beginning_of(old) + "x" * 37, old[:-1], old[:9]):
        for option in ("--rotate", "--revoke"):
            refused = run("token", "olga", option, wrong)
            assert (refused.code, refused.out) == (3, "")
            assert old[: api_tokens.BEGINNING + 1] not in refused.err
    assert ApiToken.objects.get().replaced_by == ""
    new = run("token", "olga", "--rotate", old).out.strip()
    assert run("token", "olga", "--revoke", f"{beginning_of(new)}…").out == "1 token revoked\n"


def test_rotating_by_command_asks_for_a_code_where_creating_does() -> None:
    olga = User.objects.create(username="olga")
    secret = token_of(olga, TokenScope.COMPENSATE)
    device = with_device(olga)
    unasked = run("token", "olga", "--rotate", beginning_of(secret))
    assert (unasked.code, ApiToken.objects.count()) == (2, 1)
    assert run("token", "olga", "--rotate", beginning_of(secret), answer=code_of(device)).code == 0
    assert ApiToken.objects.count() == 2


def test_a_closed_account_gets_no_successor() -> None:
    secret = token_of(User.objects.create(username="olga", is_active=False))
    assert run("token", "olga", "--rotate", beginning_of(secret)).code == 2
    assert ApiToken.objects.count() == 1


# --- in the console


def button(secret: str) -> str:
    return f'aria-label="Rotate {row_of(secret)}"'


def press(client: Client, secret: str, **options: Any) -> Any:
    """Presses a token's button."""
    return client.post(TOKENS, {"rotate": str(row_of(secret).pk)}, **options)


def test_a_token_is_rotated_in_the_console() -> None:
    olga = person("operator", "olga")
    old, client = token_of(olga, TokenScope.ORDERS), signed_in(olga)
    assert button(old) in client.get(TOKENS).text
    shown = press(client, old)
    new = secret_in(shown)
    assert (status(old), status(new)) == (200, 200)
    assert "no-store" in shown["Cache-Control"]
    assert f"It replaces <code>{beginning_of(old)}…</code>" in " ".join(shown.text.split())
    page = " ".join(client.get(TOKENS).text.split())
    assert f'being replaced by <code class="piece">{beginning_of(new)}…</code> until' in page
    assert button(new) in page and button(old) not in page
    assert "is being replaced by" in press(client, old, follow=True).text
    assert ApiToken.objects.count() == 2


def test_rotating_needs_a_fresh_code(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    olga = person("operator", "olga")
    secret = token_of(olga)
    device, client = with_device(olga), signed_in(olga)
    give(client, code_of(device))
    move(client, **{second_factor.GIVEN_AT: settings.SECOND_FACTOR_FRESH.total_seconds() + 1})
    assert press(client, secret)["Location"].startswith(f"{FACTOR}?next=")
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize("level", ["operator", "admin"])
def test_nobody_gets_a_token_of_somebody_elses_account(level: str, client: Client) -> None:
    secret = token_of(person("operator", "olga"))
    other = signed_in(person(level, "pia"))
    assert press(other, secret).status_code == 404
    for key in (str(10**30), "-1", "x", "²"):
        assert other.post(TOKENS, {"rotate": key}).status_code == 404
    assert button(secret) not in other.get(TOKENS).text
    assert press(client, secret).status_code == 302
    assert ApiToken.objects.count() == 1


def test_a_new_password_ends_both(ada: APIClient) -> None:
    new, successor = token_services.rotate(token=ApiToken.objects.get(user=ada.user), actor=OLGA)
    assert new.user == ada.user
    assert api_tokens.revoke_all(ada.user) == 2
    assert (status(ada.token), status(successor)) == (401, 401)
