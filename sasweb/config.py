"""The settings that come from the environment, read once and checked.

Every variable has a default. An invalid value raises `ConfigError`, whose text is one line that names the variable, its
value and what is expected.
"""

import contextlib
import os
import re
import secrets
from dataclasses import dataclass
from email.utils import parseaddr
from importlib.util import find_spec
from pathlib import Path

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from sasweb import releases
from sasweb.amounts import CurrencyAmounts, read_amounts
from sasweb.environment import (
    BIND,
    GIGABYTE,
    ConfigError,
    Environment,
    invalid,
    next_port,
    reachable_host_port,
)
from sasweb.limits import DEFAULTS, Limits, read_limits
from sasweb.public_hosts import Network, may_be_called, read_literal, read_networks
from sasweb.webhook_signatures import read_secret

PROJECT_DIR = Path(__file__).resolve().parent.parent


SHORTEST_KEY = 32
"""Characters of `SECRET_KEY`."""
SHORTEST_TOKEN = 32
"""Characters of `METRICS_TOKEN`."""
MOST_SECRETS = 2
"""How many secrets may sign one webhook."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings that the environment decides. Times are in seconds, `keep_…` in days, sizes in bytes."""

    bind: str
    sandbox_bind: str
    var_dir: Path
    database_url: str
    listen_database_url: str
    migrate_database_url: str
    prepared_statements: bool
    database_room: float
    secret_key: str
    secret_key_fallbacks: tuple[str, ...]
    debug: bool
    allowed_hosts: list[str]
    businesses: tuple[str, ...]
    default_workflow: str
    supervisor_period: float
    failure_threshold: int
    probe_period: float
    ramp: float
    agent_rate: float
    retry_budget: float
    keep_finished: float
    keep_archived: float
    keep_requests: float
    shop_name: str
    email_url: str
    email_from: str
    shop_email: str
    alert_email: str
    alert_webhook_url: str
    alert_webhook_secret: tuple[bytes, ...]
    heartbeat_url: str
    webhook_networks: tuple[Network, ...]
    client_webhook_networks: tuple[Network, ...]
    watchdog: bool
    limits: Limits
    trusted_proxies: tuple[Network, ...]
    public_url: str
    require_second_factor: bool
    metrics_token: str
    metrics_open: bool
    approve_refunds_above: CurrencyAmounts | None
    release: str
    drill: bool

    @property
    def mailbox_url(self) -> str:
        """Where the sandbox shows the emails that are sent; empty if they go elsewhere."""
        if self.email_url != f"smtp://{next_port(self.sandbox_bind)}":
            return ""
        return f"http://{reachable_host_port(self.sandbox_bind)}/_mail/"

    @property
    def help_address(self) -> str:
        """The email address where customers reach a person: that of `SHOP_EMAIL`, or else of the sender of emails."""
        return parseaddr(self.shop_email or self.email_from)[1]


def read(environment: Environment | None = None) -> Config:
    """Reads the environment. Raises `ConfigError` for the first invalid value."""
    env = environment or Environment()
    var_dir = env.folder("VAR_DIR", PROJECT_DIR / "var")
    sandbox = env.host_port("SANDBOX_BIND", "127.0.0.1:9000")
    bind = env.host_port("BIND", BIND)
    if bind in (sandbox, next_port(sandbox)):
        raise invalid("SANDBOX_BIND", sandbox, "a port that, like the next one up, is not BIND's")
    networks = _networks(env, "WEBHOOK_NETWORKS")
    debug, drill = env.flag("DEBUG", False), env.flag("DRILL", False)
    if drill:
        _check_loopback(BIND=bind, SANDBOX_BIND=sandbox)
    listen_database_url = _postgres_url(env, "LISTEN_DATABASE_URL", "")
    return Config(
        bind=bind,
        sandbox_bind=sandbox,
        var_dir=var_dir,
        database_url=_postgres_url(env, "DATABASE_URL", _noted_url(var_dir)),
        listen_database_url=listen_database_url,
        migrate_database_url=_postgres_url(env, "MIGRATE_DATABASE_URL", ""),
        prepared_statements=env.flag("PREPARED_STATEMENTS", not listen_database_url),
        database_room=env.number("DATABASE_ROOM", 0.0, lowest=0, highest=1_000_000) * GIGABYTE,
        secret_key=_secret_key(env, var_dir),
        secret_key_fallbacks=_secret_keys(env, "SECRET_KEY_FALLBACKS"),
        debug=debug,
        allowed_hosts=env.texts("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"], of="host names"),
        businesses=_businesses(env, "BUSINESSES"),
        default_workflow=env.text("DEFAULT_WORKFLOW"),  # checked by the registry, which knows the names
        supervisor_period=env.number("SUPERVISOR_PERIOD", 2.0, lowest=0.1, highest=5),
        failure_threshold=env.whole("FAILURE_THRESHOLD", 3, lowest=1, highest=100),
        probe_period=env.number("PROBE_PERIOD", 15.0, lowest=0.1, highest=600),
        ramp=env.number("RAMP", 30.0, lowest=0.1, highest=3_600),
        agent_rate=env.number("AGENT_RATE", 0.0, lowest=0, highest=100_000),
        retry_budget=env.number("RETRY_BUDGET", 100.0, lowest=0.1, highest=100_000),
        keep_finished=env.number("KEEP_FINISHED", 90.0, lowest=1, highest=36_500),
        keep_archived=env.number("KEEP_ARCHIVED", 0.0, lowest=0, highest=36_500),
        keep_requests=env.number("KEEP_REQUESTS", 7.0, lowest=0, highest=36_500),
        email_url=env.url("EMAIL_URL", f"smtp://{next_port(sandbox)}", schemes=("smtp", "smtps")),
        shop_name=env.shop_name(),
        email_from=env.sender(),
        shop_email=env.shop_email(),
        alert_email=env.email("ALERT_EMAIL"),
        alert_webhook_url=_webhook_url(env, "ALERT_WEBHOOK_URL", networks),
        alert_webhook_secret=_webhook_secrets(env, "ALERT_WEBHOOK_SECRET"),
        heartbeat_url=_webhook_url(env, "HEARTBEAT_URL", networks),
        webhook_networks=networks,
        client_webhook_networks=_networks(env, "CLIENT_WEBHOOK_NETWORKS"),
        watchdog=env.flag("WATCHDOG", True),
        limits=_limits(env, "LIMITS"),
        trusted_proxies=_networks(env, "TRUSTED_PROXIES"),
        public_url=env.public_url(),
        require_second_factor=env.flag("REQUIRE_SECOND_FACTOR", not debug and not drill),
        metrics_token=_metrics_token(env, "METRICS_TOKEN"),
        metrics_open=env.flag("METRICS_OPEN", False),
        approve_refunds_above=_amounts(env, "APPROVE_REFUNDS_ABOVE"),
        release=_release(env, "RELEASE"),
        drill=drill,
    )


def _check_loopback(**binds: str) -> None:
    """Raises `ConfigError` if one of them is open to other machines: a drill has accounts whose passwords are in a
    file, and a sandbox that obeys everybody."""
    for name, value in binds.items():
        host = value.rpartition(":")[0].strip("[]")
        if host != "localhost" and not ((address := read_literal(host)) and address.is_loopback):
            raise invalid(
                name, value, "an address of this machine alone in a drill, for example 127.0.0.1:8100"
            )


def _release(env: Environment, name: str) -> str:
    value = env.text(name) or releases.current(PROJECT_DIR)
    if not releases.SANE.fullmatch(value):
        raise invalid(name, value, "up to 40 letters, digits and . _ + -, for example 0.9.1")
    return value


def _networks(env: Environment, name: str) -> tuple[Network, ...]:
    value = env.text(name)
    try:
        return read_networks(value.split(",") if value else [])
    except ValueError as error:
        raise invalid(name, value, "networks separated by commas, for example 10.20.0.0/16") from error


def _limits(env: Environment, name: str) -> Limits:
    value = env.text(name)
    try:
        return read_limits(value)
    except ValueError as error:
        expected = (
            "off, or for example orders.token=50/60 for 50 in 60 seconds, separated by commas;"
            f" the names are {', '.join(DEFAULTS)}"
        )
        raise invalid(name, value, expected) from error


def _amounts(env: Environment, name: str) -> CurrencyAmounts | None:
    """Amounts by currency; None if there are none."""
    value = env.text(name)
    try:
        return read_amounts(value) if value.strip() else None
    except ValueError as error:
        expected = "amounts with their currencies, each currency once, for example EUR 500, GBP 400"
        raise invalid(name, value, expected) from error


def _webhook_url(env: Environment, name: str, networks: tuple[Network, ...]) -> str:
    """A url to call. A host's name is looked up, and its addresses are checked, only when it is called."""
    value = env.url(name)
    if value and not may_be_called(value, networks):
        expected = (
            "a URL that starts with https:// and has a public host, or WEBHOOK_NETWORKS with its network"
        )
        raise invalid(name, value, expected)
    return value


def _webhook_secrets(env: Environment, name: str) -> tuple[bytes, ...]:
    """The secrets that sign a webhook: two while they change. No error shows one."""
    value = env.text(name)
    try:
        signing_secrets = tuple(read_secret(text.strip()) for text in value.split(",") if value)
    except ValueError:
        signing_secrets = ()
    if bool(value) is not (0 < len(signing_secrets) <= MOST_SECRETS):
        raise ConfigError(
            f"{name} is not valid; expected whsec_ and 24 to 64 bytes in base64, or two such secrets with a comma"
        )
    return signing_secrets


def _metrics_token(env: Environment, name: str) -> str:
    """The token with which /metrics is read. No error shows it."""
    value = env.text(name)
    if value and (
        len(value) < SHORTEST_TOKEN or not (value.isascii() and value.isprintable() and " " not in value)
    ):
        raise ConfigError(
            f"{name} is not valid; expected at least {SHORTEST_TOKEN} random characters of ASCII, without spaces"
        )
    return value


def _businesses(env: Environment, name: str) -> tuple[str, ...]:
    """The packages of the businesses, each a Django app."""
    packages = tuple(package.strip() for package in env.text(name, "orders.shop").split(","))
    for package in packages:
        try:
            is_there = find_spec(package) is not None
        except (ImportError, ValueError):
            is_there = False
        if not is_there or packages.count(package) > 1:
            raise invalid(
                name,
                ",".join(packages),
                "Python packages, each once, separated by commas, for example orders.shop",
            )
    return packages


def _noted_url(var_dir: Path) -> str:
    """The url that the embedded server noted when it started."""
    note = var_dir / "database-url"
    return note.read_text().strip() if note.is_file() else "postgresql://sasweb@127.0.0.1:5432/sasweb"


def _postgres_url(env: Environment, name: str, default: str) -> str:
    value = env.text(name) or default
    if not value:
        return value
    try:
        if not value.startswith(("postgres://", "postgresql://")):
            raise ProgrammingError("not a URL")
        conninfo_to_dict(value)
    except ProgrammingError as error:
        redacted = re.sub(r"(?<=:)[^:@/]+(?=@)", "…", value)
        raise invalid(name, redacted, "postgresql://USER:PASSWORD@HOST:PORT/NAME") from error
    return value


def _secret_keys(env: Environment, name: str) -> tuple[str, ...]:
    keys = tuple(key for key in env.text(name).split(",") if key)
    if any(len(key) < SHORTEST_KEY for key in keys):
        raise ConfigError(f"{name} is not valid; expected earlier values of SECRET_KEY, separated by commas")
    return keys


def _secret_key(env: Environment, var_dir: Path) -> str:
    """`SECRET_KEY`, or a key that is generated once and kept in `VAR_DIR`, readable only by its owner."""
    value = env.text("SECRET_KEY")
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
