"""`manage.py token NAME`: creates an API token for an account and prints it, once: only its hash is stored."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandParser
from django.utils import timezone

from orders.access import api_tokens, second_factor
from orders.management.operator_command import (
    DONE,
    NOTHING,
    REFUSED,
    ActingCommand,
    Stop,
    operator_name,
)
from orders.management.tables import Column, Fit, table
from orders.models import ApiToken
from orders.selectors.api_tokens import tokens
from orders.services import api_tokens as token_services
from orders.services.audit import Actor
from orders.vocabulary import TokenScope
from orders.wording.token_scopes import ACTS, warn_beyond
from orders.wording.units import counted

CREATE = "create"
ACTS_BY_OPTION = ("list", "rotate", "pin", "revoke")
OF_NEW = ("scope", "days", "label")
"""What the command does if it is not told to create a token, and the options of creating one."""
UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
COLUMNS = (
    Column("TOKEN"),
    Column("ACCOUNT"),
    Column("LABEL", fit=Fit.WRAP, least=20),
    Column("SCOPES", fit=Fit.WRAP, least=10),
    Column("VERSION"),
    Column("EXPIRES"),
    Column("LAST USED"),
)


class Command(ActingCommand):
    help = (
        "Create an API token for an account and print it. It may do what its scopes and its account allow, and ends"
        " when the account's password changes. Or list tokens, rotate one, pin one to a version of the API, or revoke"
        " them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", nargs="?", help="the account's name; --list lists all tokens without it")
        parser.add_argument(
            "--scope",
            action="extend",
            nargs="+",
            choices=[scope.value for scope in TokenScope],
            default=[],
            metavar="SCOPE",
            help="what the token may do besides reading: "
            + "; ".join(f"{scope}: {act}" for scope, act in ACTS.items() if scope != TokenScope.READ)
            + " (asks for a code of the account's second factor)",
        )
        parser.add_argument(
            "--days",
            type=int,
            help=f"until it expires, at most {api_tokens.MOST_DAYS} (default: {api_tokens.DAYS})",
        )
        parser.add_argument("--label", help="what the token is for")
        parser.add_argument("--list", action="store_true", help="list tokens, with their last use")
        parser.add_argument(
            "--rotate",
            metavar="TOKEN",
            help="replace the account's token that --list shows so with one that may do the same, and print that",
        )
        parser.add_argument(
            "--overlap",
            help="how long both are valid, such as 30m, 24h or 7d; 0 ends the old one at once (default: 24h)",
        )
        parser.add_argument(
            "--pin",
            nargs=2,
            metavar=("TOKEN", "VERSION"),
            help="have this version of the API answer the account's token that --list shows so",
        )
        parser.add_argument(
            "--revoke",
            nargs="?",
            const=True,
            metavar="TOKEN",
            help="revoke the account's token that --list shows so, or all of them",
        )

    def work(self, options: dict[str, Any]) -> int:
        """Prints the token, the list, or what was revoked."""
        act = _act(options)
        user = None if options["name"] is None else _account(options["name"])
        if act == "list":
            return self._list(tokens(user_id=user.pk if user else None))
        if user is None:
            raise Stop("whose token? manage.py token NAME, or manage.py token --list")
        by = Actor(name=options["by"] or operator_name())
        if act == "revoke":
            return self._revoke(user, options["revoke"], by)
        if act == "rotate":
            return self._rotate(user, options["rotate"], _read_overlap(options["overlap"]), by)
        if act == "pin":
            beginning, version = options["pin"]
            return self._pin(user, beginning, version, by)
        return self._create(user, options, by)

    def _create(self, user: User, options: dict[str, Any], by: Actor) -> int:
        scopes = [TokenScope(scope) for scope in options["scope"]]
        days = api_tokens.DAYS if options["days"] is None else options["days"]
        label = (options["label"] or "").strip()
        if not 1 <= days <= api_tokens.MOST_DAYS:
            raise Stop(f"--days takes a number from 1 to {api_tokens.MOST_DAYS}")
        if len(label) > api_tokens.LONGEST_LABEL or not label.isprintable():
            raise Stop(f"--label takes up to {api_tokens.LONGEST_LABEL} printable characters")
        self._check(user, scopes)
        token, secret = token_services.create(user=user, scopes=scopes, label=label, days=days, actor=by)
        self.stdout.write(secret)
        self.stderr.write(f"for {', '.join(token.scopes)}; expires on {token.expires_at:%Y-%m-%d}")
        self._warn(user, token.scopes)
        return DONE

    def _warn(self, user: User, scopes: Collection[str]) -> None:
        if beyond := token_services.beyond_account(user, scopes):
            self.stderr.write(f"warning: {warn_beyond(beyond, account=user.username)}")

    def _check(self, user: User, scopes: Collection[str]) -> None:
        """Raises `Stop` unless the account may have a token with these scopes."""
        if not user.is_active:
            raise Stop(f"the account {user.username!r} is not active")
        if TokenScope.COMPENSATE in scopes:
            self._ask_for_code(user)

    def _rotate(self, user: User, beginning: str, overlap: timedelta, by: Actor) -> int:
        token, *others = _tokens_of(user, beginning)
        if others:
            raise Stop(
                f"several tokens of {user.username!r} begin with {beginning!r}: rotate them in the console"
            )
        self._check(user, token.scopes)
        try:
            successor, secret = token_services.rotate(token=token, overlap=overlap, actor=by)
        except ValueError as error:
            raise Stop(str(error), REFUSED) from None
        self.stdout.write(secret)
        token.refresh_from_db()
        has_ended = token.expires_at <= timezone.now()
        ending = "has ended" if has_ended else f"is valid until {token.expires_at:%Y-%m-%d %H:%M} UTC"
        self.stderr.write(
            f"for {', '.join(successor.scopes)}; expires on {successor.expires_at:%Y-%m-%d}; {token} {ending}"
        )
        self._warn(user, successor.scopes)
        return DONE

    def _ask_for_code(self, user: User) -> None:
        """Asks for a code of the account's second factor. Raises `Stop` without a right one."""
        if not second_factor.has_factor(user):
            if settings.REQUIRE_SECOND_FACTOR:
                raise Stop(
                    f"the scope compensate needs the second factor of {user.username!r}, who has none:"
                    " set one up in the console first",
                    REFUSED,
                )
            return
        # Asked on stderr, so that stdout has nothing but the token.
        self.stderr.write(f"Code of {user.username}'s second factor: ", ending="")
        self.stderr.flush()
        try:
            check = second_factor.check_code(user, input())
        except EOFError:
            raise Stop("the scope compensate needs a code, and there is no terminal to ask for it") from None
        if check.wait:
            raise Stop(f"too many wrong codes; wait {check.wait} seconds, then try again", REFUSED)
        if not check.is_right:
            raise Stop("this code is wrong; wait for the next one and try again", REFUSED)

    def _list(self, shown: Sequence[ApiToken]) -> int:
        if not shown:
            self.stdout.write("no tokens")
            return DONE
        now = timezone.now()
        rows = [
            (
                token,
                token.user.username,
                token.label,
                " ".join(token.scopes),
                token.version,
                _ending(token, now=now),
                f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else "never",
            )
            for token in shown
        ]
        self.stdout.write(table(COLUMNS, rows, width=self.width, coloured=self.is_coloured))
        return DONE

    def _pin(self, user: User, beginning: str, version: str, by: Actor) -> int:
        matches = _tokens_of(user, beginning)
        try:
            for token in matches:
                token_services.pin(token=token, version=version, actor=by)
        except ValueError as error:
            raise Stop(str(error)) from None
        self.stdout.write(f"{counted(len(matches), 'token')} pinned to {version}")
        return DONE

    def _revoke(self, user: User, beginning: str | bool, by: Actor) -> int:
        if isinstance(beginning, bool):
            revoked = token_services.revoke_all(user=user, actor=by)
            self.stdout.write(f"{counted(revoked, 'token')} revoked")
            return DONE
        matches = _tokens_of(user, beginning)
        for token in matches:
            token_services.revoke(token=token, actor=by)
        self.stdout.write(f"{counted(len(matches), 'token')} revoked")
        return DONE


def _ending(token: ApiToken, *, now: datetime) -> str:
    if token.expires_at <= now:
        return "expired"
    if token.replaced_by:
        remark = "" if token.has_successor else " (that one is gone: create a new one)"
        return f"being replaced by {token.replaced_by}… until {token.expires_at:%Y-%m-%d %H:%M}{remark}"
    return f"{token.expires_at:%Y-%m-%d}"


def _act(options: dict[str, Any]) -> str:
    """What the options ask for, `CREATE` or one of `ACTS_BY_OPTION`. Raises `Stop` if they do not go together."""
    acts = [act for act in ACTS_BY_OPTION if options[act] not in (None, False)]
    if len(acts) > 1:
        raise Stop(f"--{acts[0]} does not go with --{acts[1]}: give one of them")
    act = acts[0] if acts else CREATE
    if act != "rotate" and options["overlap"] is not None:
        raise Stop("--overlap goes only with --rotate")
    for option in OF_NEW:
        if act != CREATE and options[option] not in (None, []):
            raise Stop(f"--{option} goes only with a new token, not with --{act}")
    return act


def _read_overlap(text: str | None) -> timedelta:
    """The overlap that an option names. Raises `Stop`."""
    if text is None:
        return token_services.OVERLAP
    match = re.fullmatch(r"([0-9]{1,5})([mhd])|0", text)
    if match is None:
        raise Stop("--overlap takes a number with m, h or d, such as 30m, 24h or 7d, or 0")
    return int(match[1] or 0) * UNITS[match[2] or "m"]


def _tokens_of(user: User, text: str) -> list[ApiToken]:
    """The tokens of an account that begin so, or the one that is this. Raises `Stop` if there are none."""
    if not text:
        raise Stop(f"which token? give the {api_tokens.BEGINNING} characters that --list shows of it")
    matches = [token for token in tokens(user_id=user.pk) if _is_meant(token, text)]
    if matches:
        return matches
    if len(text) > api_tokens.BEGINNING:
        # Not repeated: it may be a token.
        raise Stop(
            f"{user.username!r} has no such token: give the {api_tokens.BEGINNING} characters that --list shows of it",
            NOTHING,
        )
    if len(text) < api_tokens.BEGINNING and not text.endswith("…"):
        raise Stop(
            f"{text!r} could mean several tokens: give all {api_tokens.BEGINNING} characters that --list shows of it",
            NOTHING,
        )
    raise Stop(f"{user.username!r} has no token that begins with {text!r}", NOTHING)


def _is_meant(token: ApiToken, text: str) -> bool:
    """Whether this is what `--list` shows of the token, or the token itself. Fewer characters could mean several."""
    return text.removesuffix("…") == token.beginning or api_tokens.digest_of(text) == token.digest


def _account(name: str) -> User:
    """The account of this name. Raises `Stop`."""
    user = User.objects.filter(username=name).first()
    if user is None:
        raise Stop(f"unknown account {name!r}")
    return user
