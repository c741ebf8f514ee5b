"""`manage.py token`: creates, lists and revokes API tokens."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django_otp.oath import TOTP

from orders.access import api_tokens, api_versions
from orders.models import ApiToken, AuditEntry, TotpFactor
from tests.commands.running import run
from tests.support.factories import ahead
from tests.support.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def olga() -> User:
    return User.objects.create_user("olga")


def scopes_of(token: str) -> list[str]:
    row = api_tokens.find(token.strip())
    assert row is not None
    return row.scopes


def with_device(user: User) -> str:
    """Gives the account a second factor. Returns a code of it."""
    device = TotpFactor.objects.create(user=user, name="default", confirmed=True)
    return f"{TOTP(device.bin_key, device.step, device.t0, device.digits, device.drift).token():06d}"


def test_a_token_may_only_read_unless_it_is_given_scopes() -> None:
    plain = run("token", "olga")
    assert scopes_of(plain.out) == ["read"]
    assert re.fullmatch(r"for read; expires on \d{4}-\d\d-\d\d\n", plain.err)
    wide = run(
        "token", "olga", "--scope", "priority", "--scope", "orders", "--days", 7, "--label", "the till"
    )
    assert scopes_of(wide.out) == ["read", "orders", "priority"]
    assert AuditEntry.objects.filter(act="token create", target="olga").count() == 2


@pytest.mark.parametrize(("level", "is_warned"), [("customer", True), ("viewer", True), ("operator", False)])
def test_scopes_of_operators_are_warned_of_if_the_account_may_not_operate(
    level: str, is_warned: bool
) -> None:
    account = person(level, "vera")
    results = [run("token", "vera", "--scope", "orders", "operate")]
    results.append(run("token", "vera", "--rotate", results[0].out.strip()))
    assert scopes_of(results[1].out) == ["read", "orders", "operate"]
    warning = (
        f"warning: The account {account.username} does not have the access level operator, so the token cannot act with"
        " operate until the account is given it."
    )
    assert [warning in result.err for result in results] == [is_warned] * 2
    assert "warning" not in run("token", "vera", "--scope", "orders", "priority").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody",), "unknown account 'nobody'"),
        ((), "whose token? manage.py token NAME, or manage.py token --list"),
        (("olga", "--days", 0), "--days takes a number from 1 to 366"),
        (("olga", "--days", 367), "--days takes a number from 1 to 366"),
        (("olga", "--label", "x" * 61), "--label takes up to 60 printable characters"),
        (("olga", "--label", "a\x1b[2J"), "--label takes up to 60 printable characters"),
        (("olga", "--scope", "compensate"), "needs a code, and there is no terminal to ask for it"),
    ],
)
def test_a_wrong_request_says_what_is_wrong_and_makes_no_token(
    olga: User, arguments: tuple[object, ...], words: str
) -> None:
    with_device(olga)
    ran = run("token", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rotate", ""), "which token?"),
        (("--revoke", ""), "which token?"),
        (("--pin", "", "2026-11-26"), "which token?"),
        (("--overlap", "24h"), "--overlap goes only with --rotate"),
        (("--rotate", "TOKEN", "--scope", "orders"), "--scope goes only with a new token, not with --rotate"),
        (("--rotate", "TOKEN", "--days", 90), "--days goes only with a new token, not with --rotate"),
        (("--rotate", "TOKEN", "--label", ""), "--label goes only with a new token, not with --rotate"),
        (("--rotate", "TOKEN", "--revoke", "TOKEN"), "--rotate does not go with --revoke"),
        (("--rotate", "TOKEN", "--list"), "--list does not go with --rotate"),
        (("--revoke", "--pin", "TOKEN", "2026-11-26"), "--pin does not go with --revoke"),
        (("--list", "--days", 7), "--days goes only with a new token, not with --list"),
        (("--revoke", "TOKEN", "--overlap", "1h"), "--overlap goes only with --rotate"),
    ],
)
def test_options_that_do_not_go_together_change_nothing(arguments: tuple[object, ...], words: str) -> None:
    token = run("token", "olga").out.strip()
    beginning = token[: api_tokens.BEGINNING]
    ran = run("token", "olga", *(beginning if each == "TOKEN" else each for each in arguments))
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    (row,) = ApiToken.objects.all()
    assert (row.beginning, row.replaced_by) == (beginning, "")


def test_an_empty_name_is_no_account() -> None:
    assert run("token", "", "--list").err == "unknown account ''\n"


def test_an_inactive_account_gets_no_token() -> None:
    User.objects.update(is_active=False)
    assert run("token", "olga").err == "the account 'olga' is not active\n"


def test_only_a_fresh_code_grants_the_scope_compensate(olga: User) -> None:
    code = with_device(olga)
    wrong = run("token", "olga", "--scope", "compensate", answer=f"{(int(code) + 5) % 1_000_000:06d}")
    assert (wrong.code, wrong.out) == (1, "")
    assert "this code is wrong" in wrong.err
    slowed = run("token", "olga", "--scope", "compensate", answer=code)
    assert (slowed.code, slowed.out) == (1, "")
    assert "too many wrong codes; wait" in slowed.err
    TotpFactor.objects.update(throttling_failure_count=0)
    assert scopes_of(run("token", "olga", "--scope", "compensate", answer=code).out) == ["read", "compensate"]
    TotpFactor.objects.update(throttling_failure_count=0)
    again = run("token", "olga", "--scope", "compensate", answer=code)
    assert (again.code, "this code is wrong" in again.err) == (1, True)
    assert ApiToken.objects.count() == 1


def test_whether_an_account_without_a_second_factor_gets_the_scope_is_a_setting(settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    refused = run("token", "olga", "--scope", "compensate")
    assert (refused.code, refused.out) == (1, "")
    assert "set one up in the console first" in refused.err
    settings.REQUIRE_SECOND_FACTOR = False
    assert scopes_of(run("token", "olga", "--scope", "compensate").out) == ["read", "compensate"]


def test_tokens_are_listed_with_their_last_use_and_never_whole(olga: User) -> None:
    newest = api_versions.newest().name
    assert run("token", "--list").out == "no tokens\n"
    token = run("token", "olga", "--scope", "orders", "--label", "the till").out.strip()
    User.objects.create_user("pia")
    other = run("token", "pia").out.strip()
    ApiToken.objects.filter(user=olga).update(last_used_at="2026-11-20T10:30Z")
    ApiToken.objects.exclude(user=olga).update(created_at="2020-01-01T00:00Z", expires_at="2020-02-01T00:00Z")
    table = run("token", "--list")
    line = table.line_with(token[: api_tokens.BEGINNING])
    assert f"… olga the till read orders {newest} 20" in line
    assert line.endswith("2026-11-20 10:30")
    assert table.line_with(other[: api_tokens.BEGINNING]).endswith(f"pia read {newest} expired never")
    assert token not in table.out
    assert run("token", "olga", "--list").out.count("sas_") == 1


def test_one_token_or_all_are_revoked() -> None:
    first, second, third = (run("token", "olga").out.strip() for _ in range(3))
    assert run("token", "olga", "--revoke", first[: api_tokens.BEGINNING]).out == "1 token revoked\n"
    assert (api_tokens.find(first), api_tokens.find(second) is None) == (None, False)
    unknown = run("token", "olga", "--revoke", "sas_")
    assert unknown.code == 3
    assert unknown.err == "'sas_' could mean several tokens: give all 10 characters that --list shows of it\n"
    strange = run("token", "olga", "--revoke", "sas_AAAAAA")
    assert (strange.code, strange.err) == (3, "'olga' has no token that begins with 'sas_AAAAAA'\n")
    assert run("token", "olga", "--revoke").out == "2 tokens revoked\n"
    assert api_tokens.find(third) is None
    revocations = AuditEntry.objects.filter(act="token revoke").values_list("result", flat=True)
    assert list(revocations.order_by("id")) == ["revoked an API token", "revoked every API token"]


def test_a_token_is_pinned_to_another_version_of_the_api(olga: User, monkeypatch: pytest.MonkeyPatch) -> None:
    token = run("token", "olga").out.strip()
    beginning = token[: api_tokens.BEGINNING]
    assert api_versions.newest().name in run("token", "--list").line_with(beginning)
    unknown = run("token", "olga", "--pin", beginning, "2027-03-01")
    assert (unknown.code, unknown.err) == (2, "the versions of the API are 2026-11-26, 2026-11-28\n")
    newer = api_versions.Version(name="2027-03-01", changes="Amounts are texts.")
    monkeypatch.setattr(api_versions, "VERSIONS", (*api_versions.VERSIONS, newer))
    assert run("token", "olga", "--pin", beginning, "2027-03-01").out == "1 token pinned to 2027-03-01\n"
    assert ApiToken.objects.get().version == "2027-03-01"
    assert run("token", "olga", "--pin", "sas_nothing", "2027-03-01").code == 3
    entry = AuditEntry.objects.get(act="token pin")
    assert (entry.target, entry.result) == ("olga", "pinned an API token to 2027-03-01")


def test_the_list_has_whole_names_labels_and_scopes() -> None:
    name, label = "grace.hopper@navy.example.com", "the nightly export for the data warehouse"
    User.objects.create_user(name)
    every = [word for scope in ("orders", "priority", "operate") for word in ("--scope", scope)]
    run("token", name, *every, "--label", label)
    ApiToken.objects.update(replaced_by="sas_QCG4Ps9x", expires_at=ahead(80_000))
    header, first, *others = run("token", "--list").out.splitlines()
    assert name in first and "being replaced by sas_QCG4Ps9x… until " in first
    assert "…" not in first.replace(f"{ApiToken.objects.get()}", "").replace("sas_QCG4Ps9x…", "")

    def words(column: str, following: str) -> list[str]:
        begins, ends = header.index(column), header.index(following)
        return " ".join(line[begins:ends] for line in (first, *others)).split()

    assert words("LABEL", "SCOPES") == label.split()
    assert words("SCOPES", "VERSION") == ["read", "orders", "priority", "operate"]
