"""What is installed is what the lock says, and is listed; known vulnerabilities fail the run."""

import http.server
import importlib.metadata
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import django
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.advisories import SILENT
from tests.launcher.helpers import PROJECT, python

FILES_OF_ONE_PYTHON = 8
"""More files than a release has for one version of Python on Linux; a lock for one machine would have fewer."""


LOCK, WITH_DJANGO_6, TRACING = "requirements.txt", "requirements-django6.txt", "requirements-tracing.txt"
CLIENTS = "tests/generated_clients/"


def lock(name: str = LOCK) -> dict[str, tuple[Requirement, list[str]]]:
    """The packages of the lock with their hashes, by name."""
    text = (PROJECT / name).read_text().replace("\\\n", " ")
    lines = [line.split(" --hash=") for line in text.splitlines() if line and not line.startswith("#")]
    packages = [(Requirement(line[0]), [part.strip() for part in line[1:]]) for line in lines]
    return {canonicalize_name(package.name): (package, hashes) for package, hashes in packages}


def installed() -> dict[str, tuple[Requirement, list[str]]]:
    """The packages that are installed here: with DJANGO=6 a newer Django than the lock's."""
    return lock() | (lock(WITH_DJANGO_6) if django.VERSION >= (6,) else {})


@pytest.mark.parametrize("name", [LOCK, WITH_DJANGO_6, TRACING, f"{CLIENTS}requirements.txt"])
def test_every_package_of_the_lock_has_one_version_and_hashes(name: str) -> None:
    for package, hashes in lock(name).values():
        assert [specifier.operator for specifier in package.specifier] == ["=="], package
        assert hashes, package
        assert all(value.startswith("sha256:") and len(value) == 71 for value in hashes), package


@pytest.mark.parametrize("name", ["aiohttp", "orjson", "psycopg-binary", "pyyaml", "rpds-py", "uuid-utils"])
def test_the_lock_has_the_files_of_other_platforms(name: str) -> None:
    assert len(lock()[name][1]) > FILES_OF_ONE_PYTHON


def test_every_package_of_npm_has_one_version_and_a_hash_and_comes_from_no_registry_in_particular() -> None:
    packages = json.loads((PROJECT / f"{CLIENTS}package-lock.json").read_text())["packages"]
    assert packages.pop("")["devDependencies"].keys() <= {
        name.removeprefix("node_modules/") for name in packages
    }
    for name, package in packages.items():
        assert re.fullmatch(r"[\w.-]+", package["version"]), name
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


@pytest.mark.parametrize("folder", ["", CLIENTS])
def test_the_lock_has_what_the_project_asks_for(folder: str) -> None:
    pinned = lock(f"{folder}{LOCK}")
    lines = (PROJECT / f"{folder}requirements.in").read_text().splitlines()
    for requirement in [
        Requirement(line.partition("#")[0]) for line in lines if line.partition("#")[0].strip()
    ]:
        (version,) = pinned[canonicalize_name(requirement.name)][0].specifier
        assert requirement.specifier.contains(version.version), requirement


def test_tracing_takes_the_versions_that_the_lock_has_and_asks_for_what_exports_traces() -> None:
    tracing, pinned = lock(TRACING), lock()
    shared = tracing.keys() & pinned.keys()
    assert shared
    assert {name: tracing[name] for name in shared} == {name: pinned[name] for name in shared}
    names = (PROJECT / "requirements-tracing.in").read_text().splitlines()
    assert {line for line in names if not line.startswith("#")} <= tracing.keys()


def test_django_6_differs_from_the_lock_in_nothing_else() -> None:
    assert set(lock(WITH_DJANGO_6)) == {"django"}


def test_what_is_installed_is_what_the_lock_says() -> None:
    for package, _ in installed().values():
        if package.marker is None or package.marker.evaluate():
            assert package.specifier.contains(importlib.metadata.version(package.name), prereleases=True)


def test_the_bill_of_materials_lists_every_package_of_the_lock_with_its_version() -> None:
    done = subprocess.run([PROJECT / "bin" / "sbom"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "sasweb")
    versions = {canonicalize_name(part["name"]): part["version"] for part in bill["components"]}
    for name, (package, _) in installed().items():
        if package.marker is None or package.marker.evaluate():
            assert package.specifier.contains(versions[name], prereleases=True)


class Advisories(http.server.BaseHTTPRequestHandler):
    """An advisory service in the protocol of OSV that knows of one vulnerability."""

    vulnerable = "segno"

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        advisory = {
            "id": "PYSEC-2026-1",
            "details": "It draws the wrong code.",
            "affected": [
                {
                    "package": {"ecosystem": "PyPI", "name": self.vulnerable},
                    "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]}],
                }
            ],
        }
        is_affected = query["package"]["name"] == self.vulnerable
        body = json.dumps({"vulns": [advisory]} if is_affected else {}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Advisories) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def audit(*arguments: str, **env: str) -> tuple[int, str]:
    without_proxies = {name: "" for name in os.environ if name.lower().endswith("_proxy")}
    with python("-m", "tests.advisories", *arguments, env={**without_proxies, **env}) as process:
        out = process.communicate(timeout=120)[0]
    return process.returncode, out.strip()


def test_a_known_vulnerability_fails_the_run_and_says_how_to_fix_it(service: str) -> None:
    status, out = audit("-s", "osv", "--osv-url", service)
    assert status == 1
    (line,) = out.splitlines()
    assert line.startswith("audit: segno ")
    assert line.endswith("has PYSEC-2026-1; fixed in 99.1 (bin/lock --upgrade-package segno)")


def test_without_a_known_vulnerability_the_run_goes_on(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Advisories, "vulnerable", "none-of-ours")
    status, out = audit("-s", "osv", "--osv-url", service)
    assert (status, out) == (0, f"audit: {len(pinned_here())} packages have no known vulnerability")


def test_without_a_network_a_line_says_so_and_the_run_goes_on() -> None:
    assert audit(HTTPS_PROXY="http://127.0.0.1:1") == (0, SILENT)


def pinned_here() -> list[Any]:
    locked = lock() | lock(TRACING)
    return [package for package, _ in locked.values() if package.marker is None or package.marker.evaluate()]
