"""The documents match the code: settings, commands, paths, imports and figures."""

import ast
import configparser
import importlib
import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from orders import jobs
from orders.access import api_tokens
from orders.agents import transport
from orders.engine.agent_host.records import HostConfig
from orders.engine.channels import leases
from orders.engine.circuits.rules import BreakerRules
from orders.engine.circuits.store import HEARTBEAT_LIMIT
from orders.engine.contracts import Step
from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.age_turns import AGED, EVERY
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.supervisor.role import SupervisorConfig
from orders.live.following import StreamsConfig
from orders.live.hub import HubConfig
from orders.live.places import Caps, RoomCaps
from orders.management.commands import run_jobs
from orders.models import AgentRequest
from orders.outbox import queue
from orders.selectors.desk import supervisor as supervisor_page
from orders.services.operators import bulk, notifications
from orders.vocabulary import MessageKind, TokenScope
from sandbox.app import PAGE, SLOW_SECONDS
from sasweb import config, database, descriptors, logs, releases, web_server, worker
from sasweb.launcher import jobs_watch, launch
from sasweb.limits import DEFAULTS
from tests.architecture.source import ROOT
from tests.support.invariants import Limits
from tests.support.variables import defaults_of_businesses

DOCUMENTS = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "bench/results.md")),
    ]
)
README = (ROOT / "README.md").read_text()
OPERATIONS = (ROOT / "docs/operations.md").read_text()
FOLDERS = ("orders", "sasweb", "sandbox", "examples", "bench", "bin", "tests", "templates", "docs", "static")
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "eight": 8, "ten": 10, "a": 1}
BREAKER = BreakerRules()
# Read, not imported: the import would switch on the pool of connections for this process and its children.
WEB = dict(re.findall(r"^([A-Z_]+) = ([\d.]+)$", (ROOT / "sasweb/asgi.py").read_text(), re.MULTILINE))
HOST = HostConfig(instance="")


def table(text: str, heading: str) -> list[list[str]]:
    """The rows of the first table after a heading, without the header row."""
    rows = re.findall(r"^\|(.+)\|$", text.partition(f"\n{heading}\n")[2].partition("\n## ")[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows[2:]]


def names_in(cell: str) -> list[str]:
    """The names between backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def text_of(document: Path) -> str:
    """A document on one line, since a sentence may wrap anywhere."""
    return " ".join(document.read_text().split())


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> config.Config:
    """The configuration with no variable set except the folder that it writes to."""
    for name in (*config.Config.__dataclass_fields__, *defaults_of_businesses()):
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    return config.read()


def test_the_settings_in_the_readme_are_those_of_the_configuration() -> None:
    named = [name for row in table(README, "## Settings") for name in names_in(row[0])]
    own = {name.upper() for name in config.Config.__dataclass_fields__}
    assert sorted(named) == sorted(own | defaults_of_businesses().keys())


def test_the_defaults_in_the_readme_are_those_of_the_configuration(defaults: config.Config) -> None:
    demo = launch.environment(defaults, database_url="")
    of_businesses = defaults_of_businesses()
    shown = {
        "BIND": "127.0.0.1:8000",
        "ALLOWED_HOSTS": ", ".join(f"`{host}`" for host in defaults.allowed_hosts),
        "CUSTOMER_WAIT": f"{of_businesses['CUSTOMER_WAIT']:g} (`bin/up`: {demo['CUSTOMER_WAIT']})",
        "DEBUG": {("false", "true"): "off (`bin/up`: on)"}[str(defaults.debug).lower(), demo["DEBUG"]],
        "AGENT_RATE": {0.0: "0 (no limit)"}[defaults.agent_rate],
        "REQUIRE_SECOND_FACTOR": {True: "on, unless `DEBUG` is"}[defaults.require_second_factor],
        "APPROVE_REFUNDS_ABOVE": {None: "none"}[defaults.approve_refunds_above],
        "PUBLIC_URL": {f"http://{defaults.bind}": "`http://` and `BIND`"}[defaults.public_url],
        "ALERT_EMAIL": {"": "none"}[defaults.alert_email or defaults.alert_webhook_url],
        "HEARTBEAT_URL": {"": "none"}[defaults.heartbeat_url],
        "ALERT_WEBHOOK_SECRET": {(): "none"}[defaults.alert_webhook_secret],
        "RELEASE": {True: "the version, and the commit in a git checkout"}[
            defaults.release == releases.current(config.PROJECT_DIR)
        ],
        "DRILL": {False: "off"}[defaults.drill],
        "METRICS_TOKEN": {"": "none"}[defaults.metrics_token],
        "METRICS_OPEN": {False: "off"}[defaults.metrics_open],
        "WEBHOOK_NETWORKS": {(): "none"}[defaults.webhook_networks],
        "CLIENT_WEBHOOK_NETWORKS": {(): "none"}[defaults.client_webhook_networks],
        "TRUSTED_PROXIES": {(): "none"}[defaults.trusted_proxies],
        "LIMITS": {True: "`sasweb/limits.py`"}[defaults.limits == DEFAULTS],
        "WATCHDOG": {True: "on"}[defaults.watchdog],
        "EMAIL_FROM": f"`{defaults.email_from}`",
        "VAR_DIR": f"`{(config.PROJECT_DIR / 'var').relative_to(config.PROJECT_DIR)}/`",
        "DATABASE_URL": f"`{defaults.database_url}` (`bin/up`: a server of its own, in `VAR_DIR`)",
        "LISTEN_DATABASE_URL": {"": "`DATABASE_URL`"}[defaults.listen_database_url],
        "PREPARED_STATEMENTS": {True: "on without `LISTEN_DATABASE_URL`"}[defaults.prepared_statements],
        "DATABASE_ROOM": {0.0: "0 (unknown)"}[defaults.database_room],
        "MIGRATE_DATABASE_URL": {"": "`DATABASE_URL`"}[defaults.migrate_database_url],
        "SECRET_KEY": "generated once, kept in `VAR_DIR`",
        "SECRET_KEY_FALLBACKS": {(): "none"}[defaults.secret_key_fallbacks],
        "BUSINESSES": f"`{','.join(defaults.businesses)}`",
        "DEFAULT_WORKFLOW": {"": "the first of `BUSINESSES`"}[defaults.default_workflow],
        "WAREHOUSE_URL": "the sandbox",
    }
    shown["BIND"] = f"`{defaults.bind}`, `{defaults.sandbox_bind}`"
    for row in table(README, "## Settings"):
        names = names_in(row[0])
        values = [getattr(defaults, name.lower(), of_businesses.get(name)) for name in names]
        assert row[1] == (shown.get(names[0]) or ", ".join(f"{value:g}" for value in values)), names


def test_the_commands_in_the_documents_exist() -> None:
    commands = {path.stem for path in (ROOT / "orders/management/commands").glob("[a-z]*.py")}
    named = {
        name
        for document in DOCUMENTS
        for name in re.findall(r"manage\.py ([a-z_0-9]+)", document.read_text())
    }
    assert sorted(named - commands - {"migrate", "check", "collectstatic", "createsuperuser"}) == []
    documented = {
        name for row in table(README, "## Operators") for name in re.findall(r"manage\.py (\w+)", row[0])
    }
    not_for_operators = {name for name in commands if name.startswith("run_")} | {
        "up",
        "migrate",
        "api_document",
        "load_demo",
        "startbusiness",
    }
    assert sorted(commands - not_for_operators - documented) == []


def test_the_scopes_of_tokens_in_the_documents_are_those_of_the_vocabulary() -> None:
    rows = table((ROOT / "docs/operations.md").read_text(), "### API tokens")
    assert [names_in(row[0]) for row in rows] == [[scope.value] for scope in TokenScope]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_path_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    named = [name.partition("::")[0] for name in re.findall(r"`([\w./-]+)`", text)]
    paths = [ROOT / name for name in named if name.split("/")[0] in FOLDERS and "/" in name]
    links = [
        document.parent / link.partition("#")[0]
        for link in re.findall(r"\]\(([^)#:]+)[#)]|src=\"([^\"]+)\"", text)
        for link in link
        if link
    ]
    assert [
        str(path) for path in (*paths, *links) if not path.exists() and not path.with_suffix(".py").exists()
    ] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_an_example_imports_exists(document: Path) -> None:
    for block in re.findall(r"^ *```python\n(.+?)^ *```", document.read_text(), re.MULTILINE | re.DOTALL):
        lines = [line for line in block.splitlines() if re.match(r" *from ", line)]
        for node in ast.parse("\n".join(line.strip() for line in lines)).body:
            assert isinstance(node, ast.ImportFrom)
            module = importlib.import_module(node.module or "")
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_a_dotted_name_in_the_documents_exists() -> None:
    for document in DOCUMENTS:
        for name in re.findall(r"`((?:orders|sasweb)(?:\.\w+)+)`", document.read_text()):
            module, _, attribute = name.rpartition(".")
            imported = importlib.import_module(module)
            assert hasattr(imported, attribute) or importlib.import_module(name), name


def test_the_example_of_a_step_has_the_defaults_of_a_step() -> None:
    text = (ROOT / "docs/your-business.md").read_text()
    for name in ("complete_by", "settle", "key_retention", "patience", "customer_wait"):
        (value,) = re.findall(rf"^    {name}=([\d._* ]+),", text, re.MULTILINE)
        product = 1.0
        for factor in value.split("*"):
            product *= float(factor)
        assert product == Step.__dataclass_fields__[name].default, name


FIGURES = [
    ("docs/architecture.md", r"handles up to (\d+) orders", SchedulerConfig(instance="").batch),
    ("docs/architecture.md", r"by claim (\d+) × ", EVERY),
    ("docs/architecture.md", r"has waited for (\w+) minute is taken", AGED.total_seconds() / 60),
    ("docs/operations.md", r"expires after (\d+) days; `--days`", api_tokens.DAYS),
    ("docs/operations.md", r"`--days` takes up to (\d+)", api_tokens.MOST_DAYS),
    ("docs/operations.md", r"its first (\w+) characters", api_tokens.BEGINNING),
    ("docs/architecture.md", r"leases a request for (\d+) s", HOST.lease),
    ("docs/architecture.md", r"renews the lease every (\d+) s", HOST.lease / 4),
    ("docs/architecture.md", r"(\w+) failures that are at least half of the calls", BREAKER.least_failures),
    ("docs/architecture.md", r"calls in a window of (\d+) s", BREAKER.window),
    ("docs/architecture.md", r"now and then: after (\d+) s", BREAKER.first_probe),
    ("docs/architecture.md", r"is lost is sent again after (\d+) s", BREAKER.probe_patience),
    ("docs/architecture.md", r"heartbeat older than (\d+) s", HEARTBEAT_LIMIT),
    ("docs/architecture.md", r"poll every (\d+) s", HubConfig().poll),
    ("docs/architecture.md", r"at most (\w+) times a second", 1 / HubConfig().gap),
    ("docs/architecture.md", r"it ends after (\w+) minute", StreamsConfig().lifetime / 60),
    ("docs/architecture.md", r"the job is a shift of (\d+) s", jobs.SHIFT),
    ("docs/architecture.md", r"holds the leader lease \((\d+) s\)", SupervisorConfig(instance="").lease),
    ("docs/architecture.md", r"in the database is older than (\d+) s", jobs_watch.STALE_AFTER),
    ("docs/architecture.md", r"no job has ended for (\d+) s", run_jobs.NO_JOB_ENDED),
    ("docs/architecture.md", r"transaction timeout of (\d+) s", 5),
    ("docs/failure-modes.md", r"nothing is read beyond (\d+) KB", transport.LARGEST_ANSWER / 1024),
    ("docs/failure-modes.md", r"lease lapses after (\d+) s", HOST.lease),
    ("docs/failure-modes.md", r"after (\w+) lapses", leases.SUSPECT_LAPSES),
    ("docs/failure-modes.md", r"escalated within (\d+) minutes", Limits().ends_within / 60),
    ("docs/failure-modes.md", r"lease plus the sweep period: (\d+) s", HOST.lease + 2),
    (
        "docs/failure-modes.md",
        r"up to (\d+) s of delay \| `test_when_the_leading",
        SupervisorConfig(instance="").lease + 2,
    ),
    ("docs/operations.md", r"less than (\w+) minutes old", notifications.QUIET / timedelta(minutes=1)),
    ("docs/operations.md", r"at most (\d+) minutes apart", queue.LONGEST_WAIT / 60),
    ("docs/operations.md", r"apart, for (\d+) days", queue.patience(MessageKind.ALERT) / timedelta(days=1)),
    (
        "docs/operations.md",
        r"to customers: (\d+) day",
        queue.GIVE_UP_CUSTOMERS_AFTER / timedelta(days=1),
    ),
    ("docs/operations.md", r"more than (\d+) orders", bulk.COUNT_FROM),
    ("docs/operations.md", r"undo the bulk action for (\d+) seconds", bulk.GRACE / timedelta(seconds=1)),
    ("docs/operations.md", r"in waves of (\d+) \(the canary\)", bulk.WAVES[0]),
    ("docs/operations.md", r"\(the canary\), (\d+), \d+ and all", bulk.WAVES[1]),
    ("docs/operations.md", r"\(the canary\), \d+, (\d+) and all", bulk.WAVES[2]),
    ("docs/operations.md", r"at least (\w+) of its calls fail", BREAKER.least_failures),
    ("docs/operations.md", r"opens when, within (\d+) seconds", BREAKER.window),
    ("docs/operations.md", r"heartbeat in the last (\d+) s", HEARTBEAT_LIMIT),
    (
        "docs/operations.md",
        r"after (\d+) minutes without a request",
        settings.OPERATOR_IDLE / timedelta(minutes=1),
    ),
    ("docs/operations.md", r"after (\d+) hours in any case", settings.OPERATOR_SESSION / timedelta(hours=1)),
    (
        "docs/operations.md",
        r"older than (\w+) minutes\. The same",
        settings.SECOND_FACTOR_FRESH / timedelta(minutes=1),
    ),
    ("docs/operations.md", r"after (\d+) s it is late", supervisor_page.LATE),
    ("docs/operations.md", r"takes connections \| (\d+,\d+) \|", descriptors.MOST_CONNECTIONS),
    ("docs/operations.md", r"too low for (\d+,\d+) connections", descriptors.MOST_CONNECTIONS),
    ("docs/operations.md", r"takes (\d+) fewer than it may open files", descriptors.SPARE),
    ("docs/operations.md", r"waits for the head of a request \| (\d+) s", worker.HEAD_TIMEOUT),
    ("docs/operations.md", r"waits for the body \| (\d+) s", float(WEB["BODY_TIMEOUT"])),
    ("sasweb/problems.py", r"body must arrive within (\d+) seconds", float(WEB["BODY_TIMEOUT"])),
    ("docs/proxy/Caddyfile", r"read_body (\d+)s", float(WEB["BODY_TIMEOUT"]) + 5),
    ("docs/operations.md", r"with a password \| (\d+), for", float(WEB["PASSWORDS_AT_ONCE"])),
    ("docs/operations.md", r"the others wait up to (\d+) s \|", float(WEB["PATIENCE"])),
    ("docs/operations.md", r"`posts.address`, which allows (\d+) a minute", DEFAULTS["posts.address"].most),
    ("docs/operations.md", r"`posts.account`, (\d+,\d+) a minute", DEFAULTS["posts.account"].most),
    ("docs/operations.md", r"does not read its answer \| (\d+) s", worker.READ_TIMEOUT),
    ("docs/operations.md", r"an idle one after (\d+) s", web_server.keepalive),
    ("docs/operations.md", r"has live updates \| (\d+,\d+), of which", Caps().total),
    ("docs/operations.md", r", of which (\d+) are for operators only", Caps().operators),
    ("docs/operations.md", r"live updates of one order \| (\d+)", Caps().order),
    ("docs/operations.md", r"live updates of one IP address \| (\d+)", Caps().address),
    ("docs/operations.md", r"and (\d+) streams would be for all", Caps().address),
    ("docs/operations.md", r"or an operator's\) \| (\d+)", Caps().reader),
    ("docs/operations.md", r"lets requests of the API wait [^|]+ \| (\d+,\d+), of which", RoomCaps().total),
    ("docs/operations.md", r", of which (\d+) of one account", RoomCaps().share),
    ("docs/operations.md", r"has streams of the API [^|]+ \| (\d+,\d+)", Caps().total - Caps().operators),
    ("docs/operations.md", r"count as live updates; (\d+) of one account", RoomCaps().share),
    ("docs/operations.md", r"warnings and errors of one kind \| (\d+) a minute", logs.MOST_OF_A_KIND),
    ("docs/your-business.md", r"has at most (\d+) KB", transport.LARGEST_ANSWER / 1024),
    ("docs/sandbox.md", r"oldest first, (\d+) a page", PAGE),
    ("docs/sandbox.md", r"`card_slow` \((\d+) s\)", SLOW_SECONDS),
    (
        "docs/your-business.md",
        r"Keys have at most (\d+) characters",
        AgentRequest._meta.get_field("key").max_length,
    ),
    ("docs/state-machines.md", r"── (\d+) failures in a window", BREAKER.least_failures),
    ("docs/state-machines.md", r"may fail (twice) as often", RetryRules().compensation_patience),
    ("README.md", r"after at least (\w+) failed calls it waits", BREAKER.least_failures),
    ("README.md", r"waits (\w+) minutes for its customer", 120 / 60),
    ("README.md", r"your own server \((\d+) or newer\)", database.OLDEST_POSTGRES / 10_000),
]
"""Document, pattern with the figure as its group, the code's figure."""


@pytest.mark.parametrize(("document", "pattern", "figure"), FIGURES, ids=lambda value: str(value)[:40])
def test_a_figure_in_a_document_matches_the_code(document: str, pattern: str, figure: float) -> None:
    shown = re.findall(pattern, text_of(ROOT / document))
    assert len(set(shown)) == 1, f"{document} says {pattern!r} as {shown}"
    number = {**NUMBERS, "twice": 2}.get(shown[0].lower())
    assert float(number if number is not None else shown[0].replace(",", "")) == float(figure)


def codes_of_faults() -> set[str]:
    """Every code that an agent or its host gives a fault, where the code is written out."""
    faults = {"Transient", "Refused", "Declined", "Unresolved"}
    return {
        node.args[0].value
        for folder in ("agents", "engine")
        for path in (ROOT / "orders" / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in faults
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def test_the_runbook_has_every_code_that_a_fault_of_ours_can_have() -> None:
    rows = table((ROOT / "docs" / "operations.md").read_text(), "## Runbook by code")
    codes = {name for row in rows for name in names_in(row[0])}
    families = tuple(name.removesuffix("…") for name in codes if name.endswith("…"))
    ours = codes_of_faults()
    assert {"no_answer", "bad_answer"} <= ours
    assert {code for code in ours - codes if not code.startswith(families)} == set()


def test_the_tests_that_the_security_page_names_exist() -> None:
    """Each threat names the test that fails without what holds it."""
    page = (ROOT / "docs/security.md").read_text()
    named = re.findall(r"`(tests/[\w/]+)(?:\.py(?:::(\w+))?)?`", page)
    assert len(named) > 30
    for path, function in named:
        file = ROOT / f"{path}.py"
        assert file.is_file() or (ROOT / path).is_dir(), path
        assert not function or f"def {function}(" in file.read_text(), f"{path}.py::{function}"
    threats = [row for row in page.partition("## Threats")[2].splitlines() if row.startswith("| ")]
    assert [row for row in threats if "`tests/" not in row and not row.startswith("| threat")] == []


def test_the_unit_file_of_the_operations_guide_starts_a_role(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```ini\n(.*?)^```$", OPERATIONS, re.MULTILINE | re.DOTALL)
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names in capitals and small letters
    unit.read_string(text)
    service = unit["Service"]
    place, command = service["WorkingDirectory"], service["ExecStart"].split()
    assert command == [f"{place}/.venv/bin/python", "manage.py", "run_scheduler"]
    assert (service["UMask"], service["Restart"]) == ("0077", "always")
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"  # else it stays down after an outage of the database
    if shutil.which("systemd-analyze"):
        file = tmp_path / "sasweb-scheduler@.service"
        file.write_text(text.replace(service["ExecStart"], "/bin/true").replace("User=sasweb\n", ""))
        done = subprocess.run(
            ["systemd-analyze", "verify", str(file)], capture_output=True, text=True, timeout=60, check=False
        )
        assert [line for line in done.stderr.splitlines() if file.name in line] == []


def test_each_step_of_the_start_in_production_comes_after_what_it_needs() -> None:
    section = OPERATIONS.partition("## Starting in production\n")[2].partition("\n## ")[0]
    needed = [
        "-r requirements.txt",
        "`DATABASE_URL`",
        "`manage.py migrate`",
        "gunicorn -c",
        "https, and set",
        "Sign in at",
    ]
    places = [section.index(text) for text in needed]
    assert places == sorted(places)
