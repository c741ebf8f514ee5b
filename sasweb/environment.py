"""Reads and checks variables of the environment, for the project's settings and for those of a business."""

import os
import re
from collections.abc import Callable
from email.utils import formataddr, parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environs import Env, EnvError

BIND = "127.0.0.1:8000"
"""Where the web server listens by default."""
GIGABYTE = 1_000_000_000
LONGEST_SHOP_NAME = 60
"""In characters."""
DOT_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
"""What stands before the @ of an address (RFC 5322)."""
_ASCII_ADDRESS = re.compile(rf"{DOT_ATOM}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
LONGEST_ADDRESS = 254
"""In characters."""


class ConfigError(ValueError):
    """Raised when an environment variable has an invalid value.

    Its text is one line that names the variable, its value and what is expected.
    """


def is_ascii_address(text: str) -> bool:
    """Whether every mail server takes an email to or from this address."""
    return len(text) <= LONGEST_ADDRESS and _ASCII_ADDRESS.fullmatch(text) is not None


class Environment:
    """The environment's variables, each with a default. Every method raises `ConfigError` for an invalid value.

    A business's `agents` and `versions` get one, so that its settings are checked when a process starts.
    """

    def __init__(self, env: Env | None = None) -> None:
        self._env = env or Env()

    def text(self, name: str, default: str = "") -> str:
        """Any text."""
        value: str = self._env.str(name, default=default)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """`true` or `false`."""
        value: bool = self._value(self._env.bool, name, default, "true or false")
        return value

    def texts(self, name: str, default: list[str], *, of: str) -> list[str]:
        """Texts separated by commas; `of` says what they are."""
        value: list[str] = self._value(self._env.list, name, default, f"{of} separated by commas")
        return value

    def number(self, name: str, default: float, *, lowest: float, highest: float) -> float:
        """A number from `lowest` to `highest`."""
        return self._number(self._env.float, name, default, lowest, highest, "a number")

    def whole(self, name: str, default: int, *, lowest: int, highest: int) -> int:
        """A whole number from `lowest` to `highest`."""
        return int(self._number(self._env.int, name, default, lowest, highest, "a whole number"))

    def url(self, name: str, default: str = "", *, schemes: tuple[str, ...] = ("http", "https")) -> str:
        """A URL with one of these schemes, without a slash at its end. The default stands for an empty value, too."""
        value = self.text(name, default) or default
        try:
            parts = urlsplit(value)
            usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if value and not usable:
            beginnings = " or ".join(f"{scheme}://" for scheme in schemes)
            raise invalid(name, value, f"a URL that starts with {beginnings}")
        return value.rstrip("/")

    def line(self, name: str, default: str = "", *, most: int) -> str:
        """One line of at most so many characters; may be empty."""
        value = self.text(name, default)
        if len(value) > most or not value.isprintable():
            raise invalid(name, value, f"one line of at most {most} characters")
        return value

    def email(self, name: str, default: str = "") -> str:
        """An email address, which may have a name before it; may be empty."""
        value = self.text(name, default)
        _, email = parseaddr(value)
        if value and (not re.fullmatch(r"[^@\s]+@[^@\s]+", email) or not value.isprintable()):
            raise invalid(name, value, "an email, for example Shop <shop@example.org>")
        return value

    def shop_email(self) -> str:
        """Where customers write to, and where replies to their emails go; empty if that is the sender."""
        value = self.email("SHOP_EMAIL")
        if value and not is_ascii_address(parseaddr(value)[1]):
            raise invalid(
                "SHOP_EMAIL", value, "an email in ASCII, for example Shop <shop@xn--bcher-kva.example>"
            )
        return value

    def shop_name(self) -> str:
        """What the business calls itself, on its pages and in its emails: one line of at most 60 characters."""
        value = self.line("SHOP_NAME", "Print Shop", most=LONGEST_SHOP_NAME)
        if not value.strip():
            raise invalid("SHOP_NAME", value, f"one line of at most {LONGEST_SHOP_NAME} characters")
        return value

    def sender(self) -> str:
        """From whom emails come."""
        return self.email("EMAIL_FROM", formataddr((self.shop_name(), "orders@localhost")))

    def host_port(self, name: str, default: str) -> str:
        """HOST:PORT, where the next port up exists as well."""
        value = self.text(name, default)
        host, _, port = value.rpartition(":")
        is_port = re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65_535
        if not host or not value.isprintable() or not is_port:
            raise invalid(name, value, f"HOST:PORT, for example {default}")
        return value

    def public_url(self) -> str:
        """The url of this installation, without a slash at its end: where a remote service calls back, for example."""
        bind = self.host_port("BIND", BIND)
        return self.url("PUBLIC_URL", f"http://{reachable_host_port(bind)}")

    def token(self, name: str, default: str = "") -> str:
        """A secret that a remote service takes as a bearer token; may be empty. No error shows it."""
        value = self.text(name, default)
        if not value.isascii() or not value.isprintable() or " " in value:
            raise ConfigError(f"{name} is not valid; expected printable ASCII without spaces")
        return value

    def folder(self, name: str, default: Path) -> Path:
        """A folder, which is made if it does not exist, for its owner alone."""
        value = self.text(name, str(default))
        folder = Path(value).expanduser().absolute()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise invalid(name, value, "a folder") from error
        return folder

    def _number(
        self, read: Callable[..., Any], name: str, default: float, lowest: float, highest: float, kind: str
    ) -> float:
        expected = f"{kind} from {lowest:.10g} to {highest:.10g}"
        value = float(self._value(read, name, default, expected))
        if not lowest <= value <= highest:
            raise invalid(name, os.environ.get(name, ""), expected)
        return value

    @staticmethod
    def _value(read: Callable[..., Any], name: str, default: Any, expected: str) -> Any:
        try:
            return read(name, default=default)
        except EnvError as error:
            raise invalid(name, os.environ.get(name, ""), expected) from error


def invalid(name: str, value: str, expected: str) -> ConfigError:
    """The error of a variable with an invalid value."""
    return ConfigError(f"{name}={value!r} is not valid; expected {expected}")


def reachable_host_port(bind: str) -> str:
    """The HOST:PORT at which a client on this machine reaches a server that listens on `bind`, maybe on all
    interfaces."""
    host, _, port = bind.rpartition(":")
    return f"{ {'0.0.0.0': '127.0.0.1', '[::]': '[::1]'}.get(host, host) }:{port}"


def next_port(host_port: str) -> str:
    """The same host and the next port up."""
    host, _, port = host_port.rpartition(":")
    return f"{host}:{int(port) + 1}"
