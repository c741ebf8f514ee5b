"""The command line, and the environment, of `bin/sasweb`."""

import argparse
import math
import re
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from sasweb.terminal import orders
from sasweb.terminal.addresses import read_url
from sasweb.terminal.changes import changes
from sasweb.terminal.errors import UsageError
from sasweb.terminal.forwarding import listen
from sasweb.terminal.server import Server
from sasweb.webhook_signatures import read_secret

KEY = re.compile(r"[!-~]([ -~]*[!-~])?")
TOKEN = re.compile(r"[!-~]+")
STATES = ("pending", "processing", "processed", "compensated", "error")
WAITS = ("customer", "operator", "outside", "delay", "retry", "agent")
"""What to follow an order until: a state of it, or whom or what it waits for."""
DESCRIPTION = (
    "Uses the REST API of a server: for client developers. Operators have manage.py, on the server itself."
)
EPILOG = """environment: SASWEB_URL is the server's address, such as https://shop.example, and SASWEB_TOKEN the token.
exit status: 0 done; 1 refused, or the order has ended otherwise than it was to; 2 the command cannot be understood, or
has no server or token; 3 no answer for too long, or it cannot be written; 130 stopped by Ctrl-C."""


class _ListElsewhere(argparse.Action):
    """Says where the orders are listed for whoever looks for that here."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(
            2,
            "bin/sasweb lists no orders. Operators list them on the server, with `manage.py orders`;"
            " clients follow all of theirs with `bin/sasweb changes`.\n",
        )


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line. `run` of its result is what does the work."""
    parser = argparse.ArgumentParser(
        prog="bin/sasweb",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    common, listing = _common()
    group = commands.add_parser("orders", help="place an order, follow it, pay for it, cancel it")
    _add_orders(group.add_subparsers(metavar="COMMAND", required=True), common, listing)
    feed = commands.add_parser(
        "changes", parents=[common, listing], help="show what happens to all your orders"
    )
    feed.add_argument(
        "--after",
        default="",
        metavar="CURSOR",
        help="go on after this cursor, or `latest` (default: the oldest)",
    )
    feed.add_argument("--follow", action="store_true", help="go on with the changes that will be")
    feed.set_defaults(run=changes)
    hook = commands.add_parser(
        "listen",
        parents=[common],
        help="post each change to a url of yours, signed as by the server's webhooks",
    )
    hook.add_argument(
        "--forward-to",
        required=True,
        type=read_url,
        metavar="URL",
        help="where your receiver listens; a number is a port of localhost",
    )
    hook.add_argument("--secret", type=_secret, help="sign with this secret, whsec_… (default: a new one)")
    hook.add_argument(
        "--after", default="latest", metavar="CURSOR", help="begin after this cursor (default: now)"
    )
    hook.set_defaults(run=listen)
    return parser


def make_server(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Server:
    """The server that the options or the environment name. Raises `UsageError`."""
    url = arguments.url or environment.get("SASWEB_URL", "")
    if not url:
        raise UsageError(
            "No server: set SASWEB_URL to its address, such as https://shop.example, or give --url."
        )
    try:
        url = read_url(url)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"SASWEB_URL is not valid: {error}") from error
    token = _token(arguments.token_file, environment)
    return Server(url.rstrip("/").removesuffix("/api/v1"), token, patience=arguments.patience)


def _token(file: str | None, environment: Mapping[str, str]) -> str:
    if file:
        place, missing = f"The token file {file}", f"The token file {file} is empty."
        try:
            token = Path(file).read_text().strip()
        except OSError as error:
            raise UsageError(f"{place} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{place} cannot be read: it is no text.") from error
    else:
        place, missing = "SASWEB_TOKEN", "No token: set SASWEB_TOKEN, or give --token-file."
        token = environment.get("SASWEB_TOKEN", "").strip()
    if not token:
        raise UsageError(
            f"{missing} Whoever runs the server makes a token with `manage.py token NAME --scope orders`."
        )
    if not TOKEN.fullmatch(token):
        raise UsageError(f"{place} is not valid: it has other characters than a token can have.")
    return token


def _common() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """The options of every command, and those of each that shows something of the server's."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--url", type=read_url, help="the server's address (default: SASWEB_URL)")
    common.add_argument(
        "--token-file", metavar="FILE", help="read the token from here (default: SASWEB_TOKEN)"
    )
    common.add_argument(
        "--patience",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="how long to try again without an answer (default: 60)",
    )
    listing = argparse.ArgumentParser(add_help=False)
    listing.add_argument("--json", action="store_true", help="print the server's JSON, one object a line")
    return common, listing


def _add_orders(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    *parents: argparse.ArgumentParser,
) -> None:
    until = argparse.ArgumentParser(add_help=False)
    until.add_argument(
        "--until",
        choices=[*STATES, *WAITS],
        metavar="STATE",
        help=f"stop following in this state, or when it waits for this (default: {orders.UNTIL}): %(choices)s",
    )
    place = commands.add_parser("place", parents=[*parents, until], help="place an order, once")
    place.add_argument("--file", help="the order as JSON; - is standard input")
    place.add_argument(
        "--line",
        action="append",
        default=[],
        type=_line,
        metavar="SKU=QUANTITY",
        help="a line of the order; such lines replace those of the file",
    )
    place.add_argument(
        "--set",
        action="append",
        default=[],
        type=_member,
        metavar="NAME=TEXT",
        help="a member of the order, such as email=ada@example.com or ship_to.city=Delft",
    )
    place.add_argument("--key", type=_key, help="the Idempotency-Key (default: a new one, which is printed)")
    place.add_argument("--follow", action="store_true", help="go on as `orders follow`")
    place.set_defaults(run=orders.place)
    commands.add_parser("list", add_help=False).add_argument(
        "rest", nargs=argparse.REMAINDER, action=_ListElsewhere
    )
    acts = {
        "show": (orders.show_order, "show an order", parents),
        "follow": (orders.follow, "show an order whenever it changes", [*parents, until]),
        "pay": (orders.pay, "pay after a declined card", parents),
        "cancel": (orders.cancel, "cancel an order", parents),
    }
    for name, (run, text, its_parents) in acts.items():
        command = commands.add_parser(name, parents=list(its_parents), help=text)
        command.add_argument("order_id", type=_order, metavar="ORDER", help="the order's id or its number")
        command.set_defaults(run=run)
        if name == "pay":
            command.add_argument(
                "--payment-method", metavar="TOKEN", help="another way to pay (default: the same again)"
            )


def _secret(text: str) -> bytes:
    try:
        return read_secret(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError("expected whsec_ and 24 to 64 bytes in base64") from error


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError("expected a number of seconds, such as 60")
    return seconds


def _order(text: str) -> str:
    if orders.NUMBER.fullmatch(text):
        return text
    try:
        return str(UUID(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            "expected the order's id, a UUID, or its number, such as 7KXM-93DJ"
        ) from error


def _line(text: str) -> tuple[str, int]:
    sku, _, quantity = text.rpartition("=")
    if not sku or not re.fullmatch("[0-9]{1,9}", quantity):
        raise argparse.ArgumentTypeError("expected SKU=QUANTITY, such as tidal-lines=2")
    return sku, int(quantity)


def _member(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not all(name.split(".")):
        raise argparse.ArgumentTypeError("expected NAME=TEXT, such as email=ada@example.com")
    return name, value


def _key(text: str) -> str:
    if not KEY.fullmatch(text) or len(text) > 255:
        raise argparse.ArgumentTypeError("expected 1 to 255 printable ASCII characters")
    return text
