"""What `manage.py up` starts and with which environment, and what it checks first."""

import http.client
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from sasweb import database
from sasweb.config import PROJECT_DIR, Config
from sasweb.environment import reachable_host_port
from sasweb.launcher import ports
from sasweb.launcher.processes import Spec

LARGEST_SCALE = 16
PIPE = "SASWEB_LAUNCHER_PIPE"  # tells `run_jobs` that its stdin is a pipe from us

ROLES = {
    "web": ["-m", "gunicorn", "-c", "python:sasweb.web_server", "sasweb.asgi:application"],
    "submission": ["manage.py", "run_submission"],
    "scheduler": ["manage.py", "run_scheduler"],
    "agents": ["manage.py", "run_agents"],
    "jobs": ["manage.py", "run_jobs"],
    "sandbox": ["-m", "sandbox"],
}
"""The processes in the order in which they are stopped: first those that accept work, last those that the others
call."""


class LaunchError(Exception):
    """Raised when nothing can be started. The text is one line that says what to change."""


def is_demonstration(config: Config) -> bool:
    """Whether `manage.py up` runs a demonstration: in a drill, and with DEBUG, which is on unless it is set."""
    return config.drill or config.debug or "DEBUG" not in os.environ


def check_drill() -> None:
    """Raises `LaunchError` when a drill has the address of anything outside. `bin/drill` starts it with none."""
    outside = (
        *("EMAIL_URL", "DATABASE_URL", "LISTEN_DATABASE_URL", "MIGRATE_DATABASE_URL"),
        *("ALERT_EMAIL", "ALERT_WEBHOOK_URL", "HEARTBEAT_URL", "WEBHOOK_NETWORKS", "CLIENT_WEBHOOK_NETWORKS"),
        *settings.OWN_SETTINGS.all("REQUIRED_VARIABLES"),
    )
    if names := [name for name in outside if os.environ.get(name)]:
        raise LaunchError(
            f"a drill has no address of anything outside, so {', '.join(names)} must not be set"
        )


def check_services() -> None:
    """Raises `LaunchError` when a remote service has no url of its own: outside DEBUG no sandbox stands in for it."""
    needed = (*settings.OWN_SETTINGS.all("REQUIRED_VARIABLES"), "EMAIL_URL")
    if missing := [name for name in needed if not os.environ.get(name)]:
        raise LaunchError(
            f"with DEBUG off there is no sandbox, so set {', '.join(missing)} to your own services"
            " (docs/operations.md, Starting in production)"
        )


def read_scale(text: str, *, has_sandbox: bool) -> dict[str, int]:
    """Reads how many of each role to run: `scheduler=2,agents=2`, and one of every other. Raises `LaunchError`."""
    scale = {**dict.fromkeys(ROLES, 1), "sandbox": int(has_sandbox)}
    for part in filter(None, text.split(",")):
        role, _, number = part.strip().partition("=")
        most = 1 if role == "sandbox" else LARGEST_SCALE
        if role not in ROLES:
            raise LaunchError(f"--scale {text}: unknown role {role!r}; the roles are {', '.join(ROLES)}")
        if not number.isascii() or not number.isdigit() or int(number) > most:
            raise LaunchError(
                f"--scale {text}: {role} must be a whole number from 0 to {most}, not {number!r}"
            )
        if role == "sandbox" and number != "0" and not has_sandbox:
            raise LaunchError(f"--scale {text}: the sandbox only runs with DEBUG, because it obeys everybody")
        scale[role] = int(number)
    return scale


def environment(config: Config, *, database_url: str) -> dict[str, str]:
    """The children's environment: ours, and in a demonstration defaults that suit it."""
    for_a_demo = {"CUSTOMER_WAIT": "120"}  # in a demonstration nobody waits an hour for another card
    if not os.environ.get("CARRIER_URL"):
        for_a_demo["TRACKING_URL"] = (
            f"http://{reachable_host_port(config.sandbox_bind)}/_parcels/{{tracking}}"
        )
    if not is_demonstration(config):
        for_a_demo = {}
    decided = {
        "DEBUG": str(is_demonstration(config) and not config.drill).lower(),
        "DATABASE_URL": database_url,
        "VAR_DIR": str(config.var_dir),
        "PYTHONUNBUFFERED": "1",
    }
    return {**for_a_demo, **os.environ, **decided}


def settings_of(env: Mapping[str, str]) -> dict[str, str]:
    """The settings of the project in an environment, except the folder that they belong to."""
    names = [field.upper() for field in Config.__dataclass_fields__ if field != "var_dir"]
    return {name: env[name] for name in names if name in env}


def task(name: str, *arguments: str, env: Mapping[str, str]) -> Spec:
    """The management command `name`, run once."""
    return Spec(name=name, argv=[sys.executable, "manage.py", name, *arguments], env=env, cwd=PROJECT_DIR)


def specs(scale: Mapping[str, int], env: Mapping[str, str]) -> list[Spec]:
    """One spec for each process. Several web processes are workers of one, because they share a port."""
    all_specs = []
    for role, arguments in ROLES.items():
        processes = min(scale[role], 1) if role == "web" else scale[role]
        for number in range(1, processes + 1):
            spec = Spec(name=f"{role}.{number}", argv=[sys.executable, *arguments], env=env, cwd=PROJECT_DIR)
            if role == "web":
                spec = replace(spec, env={**env, "WEB_CONCURRENCY": str(scale[role])})
            elif role != "sandbox":  # with DEBUG, Django keeps every statement that a process has run
                spec = replace(spec, env={**env, "DEBUG": "false"})
            if role == "jobs":  # ends a whole process group when the pipe closes, and must live until then
                env_of_jobs = {**(spec.env or {}), PIPE: "1"}
                spec = replace(spec, env=env_of_jobs, has_pipe=True, death_signal=None, stops_slowly=True)
            all_specs.append(spec)
    return all_specs


def check_ports(config: Config, scale: Mapping[str, int]) -> None:
    """Raises `LaunchError` when a process will not be able to listen on its port."""
    listeners = ports.listeners(bind=config.bind, sandbox_bind=config.sandbox_bind)
    if trouble := ports.find_trouble([listener for listener in listeners if scale[listener.role]]):
        raise LaunchError(trouble)


def check_two_roles(config: Config) -> None:
    """Raises `LaunchError` when there is a role to migrate with, but none of the application's own."""
    if config.migrate_database_url and not os.environ.get("DATABASE_URL"):
        raise LaunchError(
            "MIGRATE_DATABASE_URL is set, so DATABASE_URL must be set, too, with a role of its own"
        )


def check_database(url: str, listen_url: str = "") -> None:
    """Raises `LaunchError` when the database cannot be reached, or cannot carry this software.

    The text does not show the password.
    """
    try:
        database.check(database.parameters(url), listener=database.parameters(listen_url or url))
    except (database.UnreachableDatabase, database.UnsuitableDatabase) as error:
        raise LaunchError(str(error)) from error


def is_ready(config: Config, *, probe: str = "/readyz") -> bool:
    """Whether the web process reports that it is ready or, with the probe `/healthz`, that it is alive."""
    hosts = [host for host in config.allowed_hosts if host.strip(".*")]
    name = hosts[0].lstrip(".") if hosts else "localhost"
    connection = http.client.HTTPConnection(reachable_host_port(config.bind), timeout=1.0)
    try:
        connection.request("GET", probe, headers={"Host": name})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def banner(config: Config) -> str:
    """The text shown when everything is ready: where things are, and how to sign in."""
    url = f"http://{reachable_host_port(config.bind)}"
    lines = [
        f"sasweb is ready: {url}/",
        "",
        f"  the shop   {url}/",
        f"  the API    {url}/api/docs/",
        f"  operators  {url}/console/",
    ]
    if is_demonstration(config):
        lines += [f"  emails     {config.mailbox_url}"] if config.mailbox_url else []
        lines += demonstration(config.var_dir, url)
    else:
        lines += ["", "The first account: .venv/bin/python manage.py createsuperuser"]
    return "\n".join([*lines, ""])


def demonstration(var_dir: Path, url: str) -> list[str]:
    """The part of the banner about the demonstration: its accounts with their passwords, and what to try."""
    accounts = (var_dir / "demo-accounts.txt").read_text().splitlines()
    return [
        *("", "Accounts (access level, name, password):", ""),
        *(f"  {account}" for account in accounts),
        *("", "Try:", ""),
        f"  curl -H \"Authorization: Token $(cat '{var_dir / 'demo-token'}')\" {url}/api/v1/products",
    ]
