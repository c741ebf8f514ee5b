"""How long the catalogue takes while many people sign in at once, beside how long it takes alone.

    .venv/bin/python -m bench signins [--rounds N] [--seconds S] [--rate R] [--parallel N]

A web server of its own answers requests for the catalogue at a steady rate, in each round first alone, then beside
parallel sign-ins, each under a new name, with a wrong password and from another IP address. Whoever is answered goes on
at once, whatever `Retry-After` says. A request's time begins when it is due, so one that has to wait for another counts
in full. The peak is the memory that the web's process has had until then.
"""

import bench.ready  # noqa: F401, I001 - sets up Django, so it goes first

import argparse
import itertools
import multiprocessing
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from bench import server, tables
from orders.demo import loading
from tests.support.system import database_url
from tests.support.wait import until
from tests.web.server import Server

CATALOGUE, SIGN_IN = "/", "/account/sign-in/"
VISITOR = {"X-Forwarded-For": "203.0.113.7"}
CSRF_TOKEN = "bench" * 6 + "ab"
"""Whoever sends the same in a cookie and in the form comes from the form."""
ALONE, BESIDE = "alone", "beside sign-ins"
TIMEOUT = 60.0
"""Seconds that a client waits for an answer."""
MOST_AT_ONCE = 200
"""Requests for the catalogue that may wait at the same time."""
ANSWERS: Mapping[int, str] = {200: "checked", 503: "503", 429: "429", 0: "not answered"}


def fill() -> None:
    """Loads the demonstration's catalogue."""
    server.require_database_url()
    call_command("migrate", verbosity=0)
    loading.load(settings.CONFIG.var_dir)
    connection.close()


def visit(web: Server, due: float) -> float:
    """Requests the catalogue. Returns the milliseconds since the request was due."""
    answer = web.request("GET", CATALOGUE, headers=VISITOR, timeout=TIMEOUT)
    assert answer.status == 200, answer
    return (time.monotonic() - due) * 1000


def visit_steadily(web: Server, rate: float, seconds: float) -> Sequence[float]:
    """The milliseconds of each of `rate` requests a second."""
    begun = time.monotonic()
    with ThreadPoolExecutor(MOST_AT_ONCE) as visitors:
        visits = []
        for number in range(round(rate * seconds)):
            due = begun + number / rate
            time.sleep(max(0.0, due - time.monotonic()))
            visits.append(visitors.submit(visit, web, due))
        return [future.result() for future in visits]


class SignIns:
    """Sign-ins with ever new names and IP addresses, in a process of their own, so that they do not delay visits."""

    def __init__(self, port: int, parallel: int) -> None:
        self._port = port
        self._parallel = parallel

    def run(self, first: int, seconds: float) -> Counter[int]:
        """How many were answered with each status in that many seconds; 0 stands for no answer. The names are numbered
        from `first`."""
        ends = time.monotonic() + seconds
        numbers = itertools.count(first)
        with ThreadPoolExecutor(self._parallel) as people:
            counts = [people.submit(self._go_on, numbers, ends) for _ in range(self._parallel)]
        return sum((future.result() for future in counts), Counter())

    def _go_on(self, numbers: Iterator[int], ends: float) -> Counter[int]:
        answers: Counter[int] = Counter()
        while time.monotonic() < ends:
            answers[self._sign_in(next(numbers))] += 1
        return answers

    def _sign_in(self, number: int) -> int:
        form = {
            "username": f"nobody{number}@example.com",
            "password": "a wrong one",
            "csrfmiddlewaretoken": CSRF_TOKEN,
        }
        headers = {
            "X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": f"{settings.CSRF_COOKIE_NAME}={CSRF_TOKEN}",
        }
        client = HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT)
        try:
            client.request("POST", SIGN_IN, urlencode(form), headers)
            return client.getresponse().status
        except (OSError, HTTPException):
            return 0
        finally:
            client.close()


def peak(web: Server) -> float:
    """The most memory that the web's process has had, in MiB."""
    (worker,) = web.workers()
    status = Path(f"/proc/{worker}/status").read_text()
    (kibibytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(kibibytes) / 1024


def measure(web: Server, options: argparse.Namespace) -> tuple[list[list[Any]], Counter[int]]:
    """The rows of the table, and how many sign-ins were answered with each status."""
    times: dict[str, list[float]] = {ALONE: [], BESIDE: []}
    peaks: dict[str, float] = {}
    answers: Counter[int] = Counter()
    sign_ins = SignIns(web.port, options.parallel)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as others:
        others.submit(sign_ins.run, 0, 0.0).result()  # its process has started
        visit_steadily(web, options.rate, 1.0)
        for _ in range(options.rounds):
            times[ALONE] += visit_steadily(web, options.rate, options.seconds)
            peaks.setdefault(ALONE, peak(web))
            signing_in = others.submit(sign_ins.run, answers.total(), options.seconds)
            times[BESIDE] += visit_steadily(web, options.rate, options.seconds)
            answers += signing_in.result()
    peaks[BESIDE] = peak(web)
    rows: list[list[Any]] = []
    for name, milliseconds in times.items():
        p50, p99 = (server.percentile(milliseconds, per_cent) for per_cent in (50, 99))
        rows.append([name, len(milliseconds), p50, p99, peaks[name]])
    alone, beside = rows
    return [*rows, ["ratio", "", *(beside[at] / alone[at] for at in (2, 3, 4))]], answers


def main() -> None:
    """Measures and prints a table, and what became of the sign-ins."""
    parser = argparse.ArgumentParser(prog="python -m bench signins", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=4, help="alone and beside; %(default)s by default")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each; %(default)s by default")
    parser.add_argument("--rate", type=float, default=10.0, help="visits a second; %(default)s by default")
    parser.add_argument("--parallel", type=int, default=40, help="sign-ins at a time; %(default)s by default")
    options = parser.parse_args()
    fill()
    with tempfile.TemporaryDirectory() as folder:
        web = Server(
            Path(folder) / "web.log",
            database_url=database_url(),
            forked=False,
            VAR_DIR=folder,
            TRUSTED_PROXIES="127.0.0.1",
            LIMITS="",
        )
        try:
            until(web.answers, seconds=60, what="the web server")
            rows, answers = measure(web, options)
        finally:
            web.end()
    tables.print_table(["catalogue", "requests", "p50 ms", "p99 ms", "peak MiB"], rows)
    shown = [f"{count:,} {ANSWERS.get(status, str(status))}" for status, count in sorted(answers.items())]
    print(f"sign-ins: {', '.join(shown)}")


if __name__ == "__main__":
    main()
