"""An invalid value in the environment stops the start, with one line that names the variable, its value and what is
expected."""

import os
import subprocess
from pathlib import Path

import pytest

from sasweb import config
from sasweb.limits import DEFAULTS
from tests.support import prefork
from tests.support.variables import defaults_of_businesses

NOT_A_URL = "expected a URL that starts with http:// or https://"
NOT_AN_EMAIL = "expected an email, for example Shop <shop@example.org>"
NOT_IN_ASCII = "expected an email in ASCII, for example Shop <shop@xn--bcher-kva.example>"
WRONG = [
    ("BIND", "8000", "expected HOST:PORT, for example 127.0.0.1:8000"),
    ("SANDBOX_BIND", "127.0.0.1:many", "expected HOST:PORT, for example 127.0.0.1:9000"),
    ("VAR_DIR", "/dev/null", "expected a folder"),
    ("DATABASE_URL", "mysql://localhost/shop", "expected postgresql://USER:PASSWORD@HOST:PORT/NAME"),
    ("LISTEN_DATABASE_URL", "sqlite:///x", "expected postgresql://USER:PASSWORD@HOST:PORT/NAME"),
    ("MIGRATE_DATABASE_URL", "shop", "expected postgresql://USER:PASSWORD@HOST:PORT/NAME"),
    ("DEBUG", "maybe", "expected true or false"),
    ("REQUIRE_SECOND_FACTOR", "perhaps", "expected true or false"),
    ("SUPERVISOR_PERIOD", "0", "expected a number from 0.1 to 5"),
    ("FAILURE_THRESHOLD", "0", "expected a whole number from 1 to 100"),
    ("ORDER_COMPLETE_BY", "soon", "expected a number from 1 to 86400"),
    ("STEP_COMPLETE_BY", "0.1", "expected a number from 0.5 to 3600"),
    ("CUSTOMER_WAIT", "-1", "expected a number from 0 to 2592000"),
    ("PATIENCE", "0", "expected a number from 1 to 2592000"),
    ("KEY_RETENTION", "-1", "expected a number from 0 to 3153600000"),
    ("WATCHDOG", "maybe", "expected true or false"),
    ("METRICS_OPEN", "perhaps", "expected true or false"),
    ("DRILL", "perhaps", "expected true or false"),
    ("RELEASE", "1 0", "expected up to 40 letters, digits and . _ + -, for example 0.9.1"),
    ("PREPARED_STATEMENTS", "maybe", "expected true or false"),
    ("DATABASE_ROOM", "-1", "expected a number from 0 to 1000000"),
    ("PROBE_PERIOD", "0", "expected a number from 0.1 to 600"),
    ("RAMP", "0", "expected a number from 0.1 to 3600"),
    ("AGENT_RATE", "-1", "expected a number from 0 to 100000"),
    ("RETRY_BUDGET", "none", "expected a number from 0.1 to 100000"),
    ("KEEP_FINISHED", "0.5", "expected a number from 1 to 36500"),
    ("KEEP_ARCHIVED", "never", "expected a number from 0 to 36500"),
    ("KEEP_REQUESTS", "for ever", "expected a number from 0 to 36500"),
    ("WAREHOUSE_URL", "warehouse.example", NOT_A_URL),
    ("PAYMENTS_URL", "ftp://payments.example", NOT_A_URL),
    ("CARRIER_URL", "https://", NOT_A_URL),
    ("EMAIL_URL", "http://mail.example", "expected a URL that starts with smtp:// or smtps://"),
    ("TRACKING_URL", "https://parcels.example", "expected a URL with {tracking} in it"),
    (
        "NOT_SERVED_COUNTRIES",
        "UK",
        "expected two-letter codes of countries in ISO 3166, separated by commas, for example AQ,GB",
    ),
    ("SHOP_NAME", " ", "expected one line of at most 60 characters"),
    ("EMAIL_FROM", "the shop", NOT_AN_EMAIL),
    ("SHOP_COMPANY", "two\nlines", "expected one line of at most 200 characters"),
    ("SHOP_ADDRESS", "two\nlines", "expected one line of at most 400 characters"),
    ("SHOP_REGISTRATION", "two\nlines", "expected one line of at most 200 characters"),
    ("SHOP_PHONE", "1" * 201, "expected one line of at most 200 characters"),
    ("SHOP_EMAIL", "the owner", NOT_AN_EMAIL),
    ("SHOP_EMAIL", "hello@bücher.example", NOT_IN_ASCII),
    ("SHOP_EMAIL", "hello..there@shop.example", NOT_IN_ASCII),
    ("SHOP_RETURN_DAYS", "a fortnight", "expected a whole number from 0 to 365"),
    ("ALERT_EMAIL", "nobody", NOT_AN_EMAIL),
    ("ALERT_WEBHOOK_URL", "hooks.example", NOT_A_URL),
    ("HEARTBEAT_URL", "hooks.example", NOT_A_URL),
    ("WEBHOOK_NETWORKS", "10.20.0.1/16", "expected networks separated by commas, for example 10.20.0.0/16"),
    (
        "CLIENT_WEBHOOK_NETWORKS",
        "localhost",
        "expected networks separated by commas, for example 10.20.0.0/16",
    ),
    (
        "APPROVE_REFUNDS_ABOVE",
        "500",
        "expected amounts with their currencies, each currency once, for example EUR 500, GBP 400",
    ),
    ("PUBLIC_URL", "shop.example", NOT_A_URL),
    (
        "LIMITS",
        "orders=5/60",
        "expected off, or for example orders.token=50/60 for 50 in 60 seconds, separated by commas;"
        f" the names are {', '.join(DEFAULTS)}",
    ),
    (
        "BUSINESSES",
        "no.such.package",
        "expected Python packages, each once, separated by commas, for example orders.shop",
    ),
    ("DEFAULT_WORKFLOW", "fulfil", "expected one of fulfil-order"),
    ("TRUSTED_PROXIES", "proxy", "expected networks separated by commas, for example 10.20.0.0/16"),
]
"""Variable, invalid value, expected value as the line says it."""
ALSO_WRONG = [
    *[("BIND", value) for value in ("", ":8000", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:²", "a\nb")],
    *[("DEBUG", value) for value in ("", "2")],
    *[("SUPERVISOR_PERIOD", value) for value in ("", "nan", "inf", "1e9", "2s")],
    *[("FAILURE_THRESHOLD", value) for value in ("", "2.5", "101", "three")],
    *[("WEBHOOK_NETWORKS", value) for value in ("intranet", "10.0.0.0/33", "10.0.0.0/8,", "*")],
    *[
        ("APPROVE_REFUNDS_ABOVE", value)
        for value in ("EUR", "eur 5", "EUR -1", "EUR 1,5", "EUR 5, EUR 6", "XQQ 5", "JPY 0.5", "EUR 0.001")
    ],
    *[("PUBLIC_URL", value) for value in ("http://[::1", "http://host:99999", "http://host:port")],
    *[("BUSINESSES", value) for value in ("", "orders.shop,orders.shop", "..shop", "orders.shop,")],
    *[
        ("DATABASE_URL", value)
        for value in ("postgresql://h/x?nosuch=1", "postgresql://[::1", "host=x dbname=y")
    ],
]


def environment(var_dir: Path, **variables: str) -> dict[str, str]:
    """An environment with a folder for files and these variables, and nothing else."""
    return {"PATH": os.environ["PATH"], "VAR_DIR": str(var_dir), "PYTHONDONTWRITEBYTECODE": "1"} | variables


def check(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return prefork.complete("manage.py", "check", env=env)


def test_everything_starts_without_any_variable(tmp_path: Path) -> None:
    done = check(environment(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG, ids=[name for name, _, _ in WRONG])
def test_a_wrong_value_stops_the_start_with_one_line(
    name: str, value: str, allowed: str, tmp_path: Path
) -> None:
    done = check(environment(tmp_path, **{name: value}))
    assert done.returncode != 0
    assert done.stdout + done.stderr == f"sasweb: {name}={value!r} is not valid; {allowed}\n"


def test_a_short_secret_key_stops_the_start_and_is_not_shown(tmp_path: Path) -> None:
    done = check(environment(tmp_path, SECRET_KEY="not-secret-at-all"))
    assert done.returncode != 0
    assert (
        done.stdout + done.stderr
        == "sasweb: SECRET_KEY is not valid; expected at least 32 random characters\n"
    )


@pytest.mark.parametrize("token", ["guess-me", f"{'k' * 20} {'k' * 20}"])
def test_a_token_for_the_metrics_that_can_be_guessed_stops_the_start_and_is_not_shown(
    token: str, tmp_path: Path
) -> None:
    done = check(environment(tmp_path, METRICS_TOKEN=token))
    assert done.returncode != 0
    expected = "expected at least 32 random characters of ASCII, without spaces"
    assert done.stdout + done.stderr == f"sasweb: METRICS_TOKEN is not valid; {expected}\n"


def test_a_short_earlier_key_stops_the_start_and_is_not_shown(tmp_path: Path) -> None:
    done = check(environment(tmp_path, SECRET_KEY_FALLBACKS=f"{'k' * 32},not-secret-at-all"))
    assert done.returncode != 0
    assert (
        done.stdout + done.stderr
        == "sasweb: SECRET_KEY_FALLBACKS is not valid; expected earlier values of SECRET_KEY, separated by commas\n"
    )


def test_a_database_url_that_is_not_usable_does_not_show_its_password(tmp_path: Path) -> None:
    done = check(environment(tmp_path, DATABASE_URL="postgres+ssl://shop:hunter2@db.example/shop"))
    assert done.returncode != 0
    assert "DATABASE_URL" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


@pytest.mark.parametrize(("name", "value"), ALSO_WRONG)
def test_every_wrong_value_is_reported_in_one_line(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(config.ConfigError) as refused:
        config.read()
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{name}={value!r} is not valid; expected ")


def test_every_variable_has_a_test_of_a_wrong_value() -> None:
    """`ALLOWED_HOSTS` takes any names; secrets are tested apart, since they are not shown."""
    tested = {name.lower() for name, _, _ in WRONG} | {
        *("allowed_hosts", "secret_key", "secret_key_fallbacks", "alert_webhook_secret", "metrics_token")
    }
    assert {*config.Config.__dataclass_fields__, *map(str.lower, defaults_of_businesses())} - tested == set()
