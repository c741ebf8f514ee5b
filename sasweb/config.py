"""The settings that come from the environment, read once and checked.

Every variable has a default. An invalid value raises `ConfigError`, whose text is one line that names the variable, its
value and what is expected.
"""

import contextlib
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from environs import Env, EnvError
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from sasweb.limits import DEFAULTS, Limits, read_limits
from sasweb.public_hosts import Network, is_public, is_within, read_literal, read_networks

PROJECT_DIR = Path(__file__).resolve().parent.parent


SHORTEST_KEY = 32
"""Characters of `SECRET_KEY`."""


class ConfigError(ValueError):
    """Raised when an environment variable has an invalid value."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings that the environment decides. Times are in seconds, `keep_…` in days."""

    bind: str
    sandbox_bind: str
    var_dir: Path
    database_url: str
    listen_database_url: str
    migrate_database_url: str
    prepared_statements: bool
    secret_key: str
    secret_key_fallbacks: tuple[str, ...]
    debug: bool
    allowed_hosts: list[str]
    supervisor_period: float
    failure_threshold: int
    order_complete_by: float
    step_complete_by: float
    customer_wait: float
    patience: float
    key_retention: float
    probe_period: float
    ramp: float
    agent_rate: float
    retry_budget: float
    keep_finished: float
    keep_archived: float
    warehouse_url: str
    payments_url: str
    carrier_url: str
    email_url: str
    email_from: str
    alert_email: str
    alert_webhook_url: str
    heartbeat_url: str
    webhook_networks: tuple[Network, ...]
    watchdog: bool
    limits: Limits
    trusted_proxies: tuple[Network, ...]
    public_url: str
    require_second_factor: bool


def read(environ: Env | None = None) -> Config:
    """Reads the environment. Raises `ConfigError` for the first invalid value."""
    env = environ or Env()
    var_dir = _folder(env, "VAR_DIR", PROJECT_DIR / "var")
    sandbox = _host_port(env, "SANDBOX_BIND", "127.0.0.1:9000")
    bind = _host_port(env, "BIND", "127.0.0.1:8000")
    if bind in (sandbox, _next_port(sandbox)):
        raise ConfigError(
            f"SANDBOX_BIND={sandbox!r} is not valid; expected a port that, like the next one up, is not BIND's"
        )
    networks = _networks(env, "WEBHOOK_NETWORKS")
    debug = _value(env.bool, "DEBUG", False, "true or false")
    listen_database_url = _postgres_url(env, "LISTEN_DATABASE_URL", "")
    return Config(
        bind=bind,
        sandbox_bind=sandbox,
        var_dir=var_dir,
        database_url=_postgres_url(env, "DATABASE_URL", _noted_url(var_dir)),
        listen_database_url=listen_database_url,
        migrate_database_url=_postgres_url(env, "MIGRATE_DATABASE_URL", ""),
        prepared_statements=_value(env.bool, "PREPARED_STATEMENTS", not listen_database_url, "true or false"),
        secret_key=_secret_key(env, var_dir),
        secret_key_fallbacks=_secret_keys(env, "SECRET_KEY_FALLBACKS"),
        debug=debug,
        allowed_hosts=_value(
            env.list, "ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], "host names separated by commas"
        ),
        supervisor_period=_number(env, "SUPERVISOR_PERIOD", 2.0, lowest=0.1, highest=5),
        failure_threshold=int(_number(env, "FAILURE_THRESHOLD", 3, lowest=1, highest=100, kind=env.int)),
        order_complete_by=_number(env, "ORDER_COMPLETE_BY", 600.0, lowest=1, highest=86_400),
        step_complete_by=_number(env, "STEP_COMPLETE_BY", 30.0, lowest=0.5, highest=3_600),
        customer_wait=_number(env, "CUSTOMER_WAIT", 3_600.0, lowest=0, highest=30 * 86_400),
        patience=_number(env, "PATIENCE", 86_400.0, lowest=1, highest=30 * 86_400),
        key_retention=_number(env, "KEY_RETENTION", 7 * 86_400.0, lowest=0, highest=36_500 * 86_400),
        probe_period=_number(env, "PROBE_PERIOD", 15.0, lowest=0.1, highest=600),
        ramp=_number(env, "RAMP", 30.0, lowest=0.1, highest=3_600),
        agent_rate=_number(env, "AGENT_RATE", 0.0, lowest=0, highest=100_000),
        retry_budget=_number(env, "RETRY_BUDGET", 100.0, lowest=0.1, highest=100_000),
        keep_finished=_number(env, "KEEP_FINISHED", 90.0, lowest=0, highest=36_500),
        keep_archived=_number(env, "KEEP_ARCHIVED", 0.0, lowest=0, highest=36_500),
        warehouse_url=_url(env, "WAREHOUSE_URL", f"http://{sandbox}/warehouse", ("http", "https")),
        payments_url=_url(env, "PAYMENTS_URL", f"http://{sandbox}/payments", ("http", "https")),
        carrier_url=_url(env, "CARRIER_URL", f"http://{sandbox}/carrier", ("http", "https")),
        email_url=_url(env, "EMAIL_URL", f"smtp://{_next_port(sandbox)}", ("smtp", "smtps")),
        email_from=_email(env, "EMAIL_FROM", "Print Shop <orders@localhost>"),
        alert_email=_email(env, "ALERT_EMAIL", ""),
        alert_webhook_url=_webhook_url(env, "ALERT_WEBHOOK_URL", networks),
        heartbeat_url=_webhook_url(env, "HEARTBEAT_URL", networks),
        webhook_networks=networks,
        watchdog=_value(env.bool, "WATCHDOG", True, "true or false"),
        limits=_limits(env, "LIMITS"),
        trusted_proxies=_networks(env, "TRUSTED_PROXIES"),
        public_url=_url(env, "PUBLIC_URL", f"http://{reachable_host_port(bind)}", ("http", "https")),
        require_second_factor=_value(env.bool, "REQUIRE_SECOND_FACTOR", not debug, "true or false"),
    )


def reachable_host_port(bind: str) -> str:
    """The HOST:PORT at which a client on this machine reaches a server that listens on `bind`, maybe on all
    interfaces."""
    host, _, port = bind.rpartition(":")
    return f"{ {'0.0.0.0': '127.0.0.1', '[::]': '[::1]'}.get(host, host) }:{port}"


def _folder(env: Env, name: str, default: Path) -> Path:
    value: str = env.str(name, default=str(default))
    folder = Path(value).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name}={value!r} is not valid; expected a folder") from error
    return folder


def _value(read_as: Callable[..., Any], name: str, default: Any, allowed: str) -> Any:
    try:
        return read_as(name, default=default)
    except EnvError as error:
        raise ConfigError(f"{name}={os.environ.get(name, '')!r} is not valid; expected {allowed}") from error


def _number(env: Env, name: str, default: float, *, lowest: float, highest: float, kind: Any = None) -> float:
    allowed = f"a {'whole ' if kind else ''}number from {lowest:.10g} to {highest:.10g}"
    value = float(_value(kind or env.float, name, default, allowed))
    if not lowest <= value <= highest:
        raise ConfigError(f"{name}={os.environ.get(name, '')!r} is not valid; expected {allowed}")
    return value


def _host_port(env: Env, name: str, default: str) -> str:
    value: str = env.str(name, default=default)
    host, _, port = value.rpartition(":")
    if (
        not host
        or not value.isprintable()
        or not re.fullmatch("[0-9]{1,5}", port)
        or not 0 < int(port) < 65_535
    ):
        raise ConfigError(f"{name}={value!r} is not valid; expected HOST:PORT, for example {default}")
    return value


def _email(env: Env, name: str, default: str) -> str:
    value: str = env.str(name, default=default)
    _, email = parseaddr(value)
    if value and (not re.fullmatch(r"[^@\s]+@[^@\s]+", email) or not value.isprintable()):
        raise ConfigError(
            f"{name}={value!r} is not valid; expected an email, for example Shop <shop@example.org>"
        )
    return value


def _next_port(host_port: str) -> str:
    """The same host and the next port up, where the sandbox's SMTP sink listens."""
    host, _, port = host_port.rpartition(":")
    return f"{host}:{int(port) + 1}"


def _url(env: Env, name: str, default: str, schemes: tuple[str, ...]) -> str:
    value: str = env.str(name, default=default)
    try:
        parts = urlsplit(value)
        usable = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if value and not usable:
        raise ConfigError(
            f"{name}={value!r} is not valid; expected a URL that starts with {' or '.join(schemes)}://"
        )
    return value.rstrip("/")


def _networks(env: Env, name: str) -> tuple[Network, ...]:
    value: str = env.str(name, default="")
    try:
        return read_networks(value.split(",") if value else [])
    except ValueError as error:
        raise ConfigError(
            f"{name}={value!r} is not valid; expected networks separated by commas, for example 10.20.0.0/16"
        ) from error


def _limits(env: Env, name: str) -> Limits:
    value: str = env.str(name, default="")
    try:
        return read_limits(value)
    except ValueError as error:
        raise ConfigError(
            f"{name}={value!r} is not valid; expected off, or for example orders.token=50/60 for 50 in 60 seconds,"
            f" separated by commas; the names are {', '.join(DEFAULTS)}"
        ) from error


def _webhook_url(env: Env, name: str, networks: tuple[Network, ...]) -> str:
    """A url to call. A host's name is looked up, and its addresses are checked, only when it is called."""
    value = _url(env, name, "", ("http", "https"))
    parts = urlsplit(value)
    address = read_literal(parts.hostname or "")
    may_be_internal = is_within(address, networks) if address else bool(networks)
    may_be_public = parts.scheme == "https" and (address is None or is_public(address))
    if value and not may_be_internal and not may_be_public:
        raise ConfigError(
            f"{name}={value!r} is not valid; expected a URL that starts with https:// and has a public host, or"
            " WEBHOOK_NETWORKS with its network"
        )
    return value


def _noted_url(var_dir: Path) -> str:
    """The url that the embedded server noted when it started."""
    note = var_dir / "database-url"
    return note.read_text().strip() if note.is_file() else "postgresql://sasweb@127.0.0.1:5432/sasweb"


def _postgres_url(env: Env, name: str, default: str) -> str:
    value: str = env.str(name, default="") or default
    if not value:
        return value
    try:
        if not value.startswith(("postgres://", "postgresql://")):
            raise ProgrammingError("not a URL")
        conninfo_to_dict(value)
    except ProgrammingError as error:
        redacted = re.sub(r"(?<=:)[^:@/]+(?=@)", "…", value)
        raise ConfigError(
            f"{name}={redacted!r} is not valid; expected postgresql://USER:PASSWORD@HOST:PORT/NAME"
        ) from error
    return value


def _secret_keys(env: Env, name: str) -> tuple[str, ...]:
    keys = tuple(key for key in env.str(name, default="").split(",") if key)
    if any(len(key) < SHORTEST_KEY for key in keys):
        raise ConfigError(f"{name} is not valid; expected earlier values of SECRET_KEY, separated by commas")
    return keys


def _secret_key(env: Env, var_dir: Path) -> str:
    """`SECRET_KEY`, or a key that is generated once and kept in `VAR_DIR`, readable only by its owner."""
    value: str = env.str("SECRET_KEY", default="")
    if value:
        if len(value) < SHORTEST_KEY:
            raise ConfigError(f"SECRET_KEY is not valid; expected at least {SHORTEST_KEY} random characters")
        return value
    key_file = var_dir / "secret-key"
    if not key_file.is_file():
        new_file = var_dir / f".secret-key-{os.getpid()}"
        new_file.touch(mode=0o600)
        new_file.write_text(secrets.token_urlsafe(50))
        with contextlib.suppress(FileExistsError):
            os.link(
                new_file, key_file
            )  # atomic: when several processes start for the first time, one key wins
        new_file.unlink()
    return key_file.read_text()
