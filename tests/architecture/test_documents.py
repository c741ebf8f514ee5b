"""The documents match the code: settings, commands, paths and imports."""

import ast
import configparser
import importlib
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from orders.engine.contracts import Step
from orders.vocabulary import TokenScope
from sasweb import config, releases
from sasweb.launcher import launch
from sasweb.limits import DEFAULTS
from tests.architecture.source import ROOT
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


def table(text: str, heading: str) -> list[list[str]]:
    """The rows of the first table after a heading, without the header row."""
    rows = re.findall(r"^\|(.+)\|$", text.partition(f"\n{heading}\n")[2].partition("\n## ")[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows[2:]]


def names_in(cell: str) -> list[str]:
    """The names between backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)


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
        "SHOP_NAME": f"`{defaults.shop_name}`",
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
        "NOT_SERVED_COUNTRIES": f"`{','.join(of_businesses['NOT_SERVED_COUNTRIES'])}`",
        "TRACKING_URL": {("", True): "none (`bin/up`: a page of the sandbox)"}[
            of_businesses["TRACKING_URL"], "/_parcels/" in demo["TRACKING_URL"]
        ],
        "SHOP_COMPANY": {"": "none"}[of_businesses["SHOP_COMPANY"]],
        "SHOP_EMAIL": {"": "the address of `EMAIL_FROM`"}[defaults.shop_email],
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
            missing = [alias.name for alias in node.names if not hasattr(module, alias.name)]
            assert [name for name in missing if not find_spec(f"{node.module}.{name}")] == []


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
