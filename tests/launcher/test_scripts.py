"""The scripts create their environment once, update it when it has to change, and say in one line what is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.launcher.helpers import PROJECT

FAKE_PYTHON = r"""#!/bin/sh
# A stand-in for Python: records its arguments, and "creates" environments that contain itself.
echo "$*" >>"$CALLS"
case "$*" in
    *version_info*3,\ 1[12]*) exit 0 ;;
    "-m venv --clear -- "*) mkdir -p "$5/bin"; rm -f "$5"/*.stamp; cp "$0" "$5/bin/python"; cp "$0" "$5/bin/npm" ;;
    "-m pip install"*) [ -z "${PIP_FAILS:-}" ] || exit 1 ;;
    "ci "*) [ -z "${NPM_FAILS:-}" ] || exit 1 ;;
esac
"""


class Checkout:
    """A copy of the scripts in a path with spaces, with a stand-in for Python that finishes at once."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a check out"
        shutil.copytree(PROJECT / "bin", self.root / "bin")
        (self.root / "requirements.txt").write_text("one")
        (self.root / "requirements-django6.txt").write_text("six")
        (self.root / "requirements-tracing.txt").write_text("traces")
        self.clients = self.root / "tests" / "generated_clients"
        self.clients.mkdir(parents=True)
        for name in ("requirements.txt", "package.json", "package-lock.json"):
            (self.clients / name).write_text("one")
        self.python = folder / "fake python"
        self.write_python(FAKE_PYTHON)
        self._calls = folder / "calls"
        self._folder = folder

    def write_python(self, script: str) -> None:
        self.python.write_text(script)
        self.python.chmod(0o755)

    def run(self, script: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs a script from another folder."""
        self._calls.write_text("")
        return subprocess.run(
            [str(self.root / "bin" / script), *arguments],
            env={**os.environ, "PYTHON": str(self.python), "CALLS": str(self._calls), **env},
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        """The calls of Python in the last run, except the version checks."""
        return [line for line in self._calls.read_text().splitlines() if not line.startswith("-c")]

    @property
    def installs(self) -> int:
        return sum(line.startswith("-m pip install") for line in self.calls)

    @property
    def makes(self) -> int:
        return sum(line.startswith("-m venv") for line in self.calls)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_start_creates_the_environment_and_the_second_reuses_it(checkout: Checkout) -> None:
    assert checkout.run("up", "--scale", "agents=2").returncode == 0
    assert (checkout.makes, checkout.installs) == (1, 1)
    assert checkout.run("up", "--scale", "agents=2").returncode == 0
    assert checkout.calls == [f"{checkout.root}/manage.py up --scale agents=2"]


def test_a_taken_port_is_found_before_the_environment_is_made(checkout: Checkout) -> None:
    checkout.write_python(
        FAKE_PYTHON + 'case "$*" in "-I "*launcher/ports.py*) echo taken >&2; exit 1 ;; esac\n'
    )
    refused = checkout.run("up", "--scale", "agents=2")
    assert (refused.returncode, refused.stderr) == (1, "taken\n")
    assert checkout.calls == [f"-I {checkout.root}/sasweb/launcher/ports.py --scale agents=2"]
    assert checkout.run("test", "tests/unit").returncode == 0


def test_changed_requirements_are_installed_into_the_same_environment(checkout: Checkout) -> None:
    checkout.run("up")
    (checkout.root / "requirements.txt").write_text("two")
    checkout.run("up")
    assert (checkout.makes, checkout.installs) == (0, 1)


def test_every_file_that_is_installed_must_have_a_hash_of_the_lock(checkout: Checkout) -> None:
    checkout.run("up")
    (installation,) = [call for call in checkout.calls if call.startswith("-m pip install")]
    assert installation.endswith(f"--require-hashes -r {checkout.root}/requirements.txt")


def test_django_6_has_an_environment_of_its_own(checkout: Checkout) -> None:
    checkout.run("up")
    assert checkout.run("test", "tests/unit", DJANGO="6").returncode == 0
    assert [call.partition("--require-hashes ")[2] for call in checkout.calls if "pip install" in call] == [
        f"-r {checkout.root}/requirements.txt",
        f"--no-deps -r {checkout.root}/requirements-django6.txt",
        f"-r {checkout.root}/requirements-tracing.txt",
    ]
    assert f"{checkout.root}/.venv-django6/bin/python -m pytest tests/unit" in checkout.calls[-1]
    checkout.run("up")
    assert (checkout.makes, checkout.installs) == (0, 0)
    (checkout.root / "requirements-django6.txt").write_text("six.one")
    checkout.run("test", "tests/unit", DJANGO="6")
    assert (checkout.makes, checkout.installs) == (0, 2)


def test_the_generators_of_clients_are_installed_once_when_their_tests_are_asked_for(
    checkout: Checkout,
) -> None:
    checkout.run("test", "tests/unit")
    assert not (checkout.root / ".venv-clients").exists()
    checkout.run("test", "tests/generated_clients")
    home = checkout.root / ".venv-clients"
    assert checkout.calls[:3] == [
        f"-m venv --clear -- {home}",
        "-m pip install -qq --disable-pip-version-check --no-input --require-hashes -r "
        f"{checkout.clients}/requirements.txt",
        f"ci --prefix {home} --ignore-scripts --no-audit --no-fund --loglevel=error",
    ]
    assert checkout.calls[3].endswith("/.venv/bin/python -m pytest tests/generated_clients")
    checkout.run("test", "tests/generated_clients/test_generated_clients.py")
    assert (checkout.makes, checkout.installs) == (0, 0)
    (checkout.clients / "package-lock.json").write_text("two")
    checkout.run("test", "tests/generated_clients")
    assert (checkout.makes, checkout.installs) == (1, 1)


def test_generators_that_npm_did_not_install_are_reported_and_installed_again(checkout: Checkout) -> None:
    checkout.run("up")
    failed = checkout.run("test", "tests/generated_clients", NPM_FAILS="yes")
    assert failed.returncode == 1
    assert failed.stderr.endswith("sasweb: the packages of npm could not be installed; the reason is above\n")
    assert [call for call in checkout.calls if "-m pytest" in call] == []
    assert checkout.run("test", "tests/generated_clients").returncode == 0
    assert (checkout.makes, checkout.installs) == (1, 1)


def test_a_failed_installation_is_repeated_from_the_beginning(checkout: Checkout) -> None:
    failed = checkout.run("up", PIP_FAILS="yes")
    assert failed.returncode == 1
    assert "could not be installed" in failed.stderr
    assert f"{checkout.root}/manage.py up" not in checkout.calls
    assert checkout.run("up").returncode == 0
    assert (checkout.makes, checkout.installs) == (1, 1)


def test_the_scripts_work_through_a_symbolic_link(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.root / "bin" / "link").symlink_to(checkout.root / "bin" / "up")
    assert checkout.run("link").returncode == 0
    assert checkout.calls[-1] == f"{checkout.root}/manage.py up"


def test_checks_run_in_the_checkout_and_the_first_failure_counts(checkout: Checkout) -> None:
    checkout.write_python(FAKE_PYTHON + 'case "$*" in "-m ruff format"*) pwd >>"$CALLS"; exit 3 ;; esac\n')
    assert checkout.run("check").returncode == 3
    assert checkout.calls[-1] == str(checkout.root)


def test_a_part_of_the_tests_runs_without_the_checks(checkout: Checkout) -> None:
    checkout.run("test", "tests/unit", "-k", "foo")
    pytest_call = f"{checkout.root}/.venv/bin/python -m pytest tests/unit -k foo"
    assert checkout.calls[-1] == f"-m sasweb.embedded_postgres -- {pytest_call}"


def one_line_error(checkout: Checkout, **env: str) -> str:
    run = checkout.run("up", **env)
    assert run.returncode == 1
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1
    return run.stderr


def test_a_python_that_is_missing_or_too_old_is_reported_in_one_line(checkout: Checkout) -> None:
    assert "PYTHON=/no/such/python is not valid" in one_line_error(checkout, PYTHON="/no/such/python")
    checkout.write_python("#!/bin/sh\nexit 1\n")
    assert "Python 3.11 or newer" in one_line_error(checkout)
    assert "Python 3.12 or newer" in one_line_error(checkout, DJANGO="6")


def test_another_django_is_refused_in_one_line(checkout: Checkout) -> None:
    assert "DJANGO=7 is not valid; expected 5 or 6" in one_line_error(checkout, DJANGO="7")


def test_a_python_without_venv_is_reported_with_the_package_to_install(checkout: Checkout) -> None:
    answers = 'case "$*" in *ensurepip*) exit 1 ;; *-venv*) echo python3.13-venv ;; esac\n'
    checkout.write_python("#!/bin/sh\n" + answers)
    assert "apt-get install python3.13-venv" in one_line_error(checkout)
